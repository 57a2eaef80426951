// Replaces operator new by one that counts, and keeps the largest size. A file of its own: where the compiler
// sees both sides of a pair of new and delete, it warns of what stands here on purpose.

#include <algorithm>
#include <cstdlib>
#include <new>

std::size_t allocations = 0, largest_allocation = 0;

void* operator new(std::size_t size) {
    ++allocations;
    largest_allocation = std::max(largest_allocation, size);
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
// Those of the library call the ones above; a sanitizer's do not.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc&) { return nullptr; }
}
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept {
    return operator new(size, nothrow);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
