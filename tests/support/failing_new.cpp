// Replaces operator new by one that fails when it is told to. A file of its own: where the compiler sees both
// sides of a pair of new and delete, it warns of what stands here on purpose.
#include "support/failing_new.hpp"

#include <cstdlib>
#include <new>

namespace ptxgraft::test {

std::atomic<long> allocations_left = -1;
std::atomic<long> failed_allocations = 0;
std::atomic<bool> fails_for_good = false;

namespace {

bool fails() {
    if (allocations_left.load(std::memory_order_relaxed) < 0) return false;
    const long left = allocations_left.fetch_sub(1, std::memory_order_relaxed);
    if (left > 0) return false;
    if (fails_for_good) allocations_left = 0;
    ++failed_allocations;
    return true;
}

}  // namespace
}  // namespace ptxgraft::test

void* operator new(std::size_t size) {
    if (ptxgraft::test::fails()) throw std::bad_alloc();
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    if (ptxgraft::test::fails()) throw std::bad_alloc();
    const auto unit = static_cast<std::size_t>(alignment);
    if (void* p = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return p;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return ptxgraft::test::fails() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept {
    return operator new(size, nothrow);
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
