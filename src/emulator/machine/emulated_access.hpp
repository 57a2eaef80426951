#pragma once
/// @file emulated_access.hpp
/// Blocks that access the same memory without an order race in the emulated program. What their host threads
/// do then is what the program says, and no mistake of the host: the thread sanitizer is not to look at it.

#if !defined(PTXGRAFT_THREAD_SANITIZER) && defined(__SANITIZE_THREAD__)
#define PTXGRAFT_THREAD_SANITIZER 1
#elif !defined(PTXGRAFT_THREAD_SANITIZER) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PTXGRAFT_THREAD_SANITIZER 1
#endif
#endif

#ifdef PTXGRAFT_THREAD_SANITIZER
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace ptxgraft::emulator {

/// While it lives, this thread's reads and writes are those of the program that it emulates. Its locks and
/// atomic operations still count.
class EmulatedAccess {
  public:
#ifdef PTXGRAFT_THREAD_SANITIZER
    explicit EmulatedAccess(bool is_one = true) : is_one_(is_one) {
        if (!is_one_) return;
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~EmulatedAccess() {
        if (!is_one_) return;
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    EmulatedAccess(const EmulatedAccess&) = delete;
    EmulatedAccess& operator=(const EmulatedAccess&) = delete;

  private:
    bool is_one_;
#else
    explicit constexpr EmulatedAccess(bool = true) {}
#endif
};

}  // namespace ptxgraft::emulator
