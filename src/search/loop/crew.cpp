// Threads that take parts of what is under way.

#include "search/loop/crew.hpp"

#include <new>
#include <system_error>
#include <utility>

namespace ptxgraft::search {

Crew::Crew(std::uint32_t threads) {
    try {
        helpers_.reserve(threads);
        for (std::uint32_t t = 1; t < threads; ++t) helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // those that are there do it all
    } catch (const std::bad_alloc&) {}
}

Crew::~Crew() {
    {
        const std::scoped_lock lock(mutex_);
        is_over_ = true;
    }
    has_work_.notify_all();
}

Crew::Task* Crew::task_with_parts() {
    for (auto task = tasks_.rbegin(); task != tasks_.rend(); ++task)
        if ((*task)->next_ < (*task)->parts_) return *task;
    return nullptr;
}

// The next part of a task that has one, without the lock.
void Crew::take_part(Task& task, std::unique_lock<std::mutex>& lock) {
    const std::size_t part = task.next_++;
    ++task.running_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
        task.part_(part);
    } catch (...) { thrown = std::current_exception(); }
    lock.lock();
    if (thrown != nullptr) {
        task.next_ = task.parts_;
        if (task.thrown_ == nullptr) task.thrown_ = std::move(thrown);
    }
    if (--task.running_ == 0 && task.next_ >= task.parts_) is_done_.notify_all();
}

void Crew::help() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
        if (Task* const task = task_with_parts(); task != nullptr)
            take_part(*task, lock);
        else
            has_work_.wait(lock);
    }
}

Crew::Task::Task(Crew& crew, std::size_t parts, std::function<void(std::size_t)> part)
    : crew_(crew), parts_(parts), part_(std::move(part)) {
    {
        const std::scoped_lock lock(crew_.mutex_);
        crew_.tasks_.push_back(this);
    }
    if (!crew_.helpers_.empty() && parts > 0) crew_.has_work_.notify_all();
}

void Crew::Task::finish() {
    std::unique_lock lock(crew_.mutex_);
    while (next_ < parts_) crew_.take_part(*this, lock);
    crew_.is_done_.wait(lock, [this] { return running_ == 0; });
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

Crew::Task::~Task() {
    std::unique_lock lock(crew_.mutex_);
    next_ = parts_;
    crew_.is_done_.wait(lock, [this] { return running_ == 0; });
    std::erase(crew_.tasks_, this);
}

}  // namespace ptxgraft::search
