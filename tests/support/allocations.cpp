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
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
