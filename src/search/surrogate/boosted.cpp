// Boosted trees by XGBoost, which is opened where it is found: its C API as its header of version 1.6 has it.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "search/surrogate/model.hpp"

namespace ptxgraft::search {
namespace {

constexpr int rounds = 80;

struct Library {
    using Handle = void*;
    int (*make_matrix)(const float* data, std::uint64_t rows, std::uint64_t columns, float missing,
                       Handle* out);
    int (*set_info)(Handle matrix, const char* field, const float* values, std::uint64_t count);
    int (*free_matrix)(Handle matrix);
    int (*make_booster)(const Handle* matrices, std::uint64_t count, Handle* out);
    int (*free_booster)(Handle booster);
    int (*set_parameter)(Handle booster, const char* name, const char* value);
    int (*update)(Handle booster, int round, Handle matrix);
    int (*predict)(Handle booster, Handle matrix, int options, unsigned trees, int training,
                   std::uint64_t* count, const float** values);

    bool open() {
        void* library = nullptr;
        for (const char* name : {"libxgboost.so.0", "libxgboost.so"})
            if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return false;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
            return function != nullptr;
        };
        return find(make_matrix, "XGDMatrixCreateFromMat") && find(set_info, "XGDMatrixSetFloatInfo") &&
               find(free_matrix, "XGDMatrixFree") && find(make_booster, "XGBoosterCreate") &&
               find(free_booster, "XGBoosterFree") && find(set_parameter, "XGBoosterSetParam") &&
               find(update, "XGBoosterUpdateOneIter") && find(predict, "XGBoosterPredict");
    }
};

// Null: there is none.
const Library* library() {
    static const struct Found {
        Library library{};
        bool is_there = library.open();
    } found;
    return found.is_there ? &found.library : nullptr;
}

class Matrix {
  public:
    Matrix(const Library& library, std::span<const double> rows, std::size_t width) : library_(library) {
        const std::vector<float> data(rows.begin(), rows.end());
        is_there_ = width != 0 && library.make_matrix(data.data(), data.size() / width, width,
                                                      std::numeric_limits<float>::quiet_NaN(), &handle_) == 0;
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    ~Matrix() {
        if (is_there_) library_.free_matrix(handle_);
    }
    [[nodiscard]] void* get() const { return handle_; }
    explicit operator bool() const { return is_there_; }

  private:
    const Library& library_;
    void* handle_ = nullptr;
    bool is_there_ = false;
};

class Boosted final : public Model {
  public:
    explicit Boosted(const Library& library) : library_(library) {}
    Boosted(const Boosted&) = delete;
    Boosted& operator=(const Boosted&) = delete;
    ~Boosted() override { forget(); }

    void fit(const Samples& samples) override {
        forget();
        width_ = samples.width;
        if (samples.count() == 0) return;
        const Matrix matrix(library_, samples.rows, samples.width);
        const std::vector<float> values(samples.values.begin(), samples.values.end());
        void* const of = matrix.get();
        if (!matrix || library_.set_info(of, "label", values.data(), values.size()) != 0 ||
            library_.make_booster(&of, 1, &booster_) != 0)
            return;
        constexpr std::array<std::array<const char*, 2>, 8> parameters = {{{"objective", "reg:squarederror"},
                                                                           {"nthread", "1"},
                                                                           {"seed", "0"},
                                                                           {"max_depth", "4"},
                                                                           {"eta", "0.15"},
                                                                           {"tree_method", "exact"},
                                                                           {"verbosity", "0"},
                                                                           {"min_child_weight", "2"}}};
        for (const auto& [name, value] : parameters) library_.set_parameter(booster_, name, value);
        for (int round = 0; round < rounds; ++round)
            if (library_.update(booster_, round, of) != 0) return forget();
    }

    void predict(std::span<const double> rows, std::span<double> values) const override {
        std::ranges::fill(values, 0.0);
        if (booster_ == nullptr || values.empty()) return;
        const Matrix matrix(library_, rows, width_);
        std::uint64_t count = 0;
        const float* found = nullptr;
        if (!matrix || library_.predict(booster_, matrix.get(), 0, 0, 0, &count, &found) != 0) return;
        std::copy_n(found, std::min<std::size_t>(count, values.size()), values.begin());
    }

  private:
    void forget() {
        if (booster_ != nullptr) library_.free_booster(booster_);
        booster_ = nullptr;
    }
    const Library& library_;
    void* booster_ = nullptr;
    std::size_t width_ = 0;
};

}  // namespace

std::unique_ptr<Model> boosted_trees() {
    const Library* const found = library();
    if (found == nullptr) return nullptr;
    return std::make_unique<Boosted>(*found);
}

}  // namespace ptxgraft::search
