#pragma once
/// @file lent.hpp
/// What is worth keeping from one call to the next, whoever makes it: lent to one holder at a time.

#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ptxgraft {

/// A T that this process keeps: the one that was given back last, or a new one where all are lent. It goes
/// back at the end, unless an exception left it half changed. Any thread may hold one.
template <class T> class Lent {
  public:
    Lent() : kept_(take()) {}
    ~Lent() {
        if (std::uncaught_exceptions() == exceptions_) give_back();
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    [[nodiscard]] T& operator*() const { return *kept_; }
    [[nodiscard]] T* operator->() const { return kept_.get(); }

  private:
    static constexpr std::size_t most = 64;  // that nobody holds
    struct Shelf {
        Shelf() { all.reserve(most); }
        std::mutex mutex;
        std::vector<std::unique_ptr<T>> all;
    };
    static Shelf& shelf() {
        static Shelf one;
        return one;
    }
    static std::unique_ptr<T> take() {
        Shelf& from = shelf();
        {
            const std::scoped_lock lock(from.mutex);
            if (!from.all.empty()) {
                auto last = std::move(from.all.back());
                from.all.pop_back();
                return last;
            }
        }
        return std::make_unique<T>();
    }
    void give_back() {
        Shelf& to = shelf();
        const std::scoped_lock lock(to.mutex);
        if (to.all.size() < most) to.all.push_back(std::move(kept_));
    }

    std::unique_ptr<T> kept_;
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace ptxgraft
