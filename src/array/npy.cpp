// NumPy's .npy files.

#include "array/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace ptxgraft::array {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;  // of the data in the file

struct Header {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::uint64_t>> shape;
};

// The header is a Python dict of three known keys; anything else in it is an error.
class HeaderReader {
  public:
    explicit HeaderReader(std::string_view text) : rest_(text) {}

    Expected<Header> read() {
        Header header;
        if (!take('{')) return malformed("the header is not a dict");
        while (!take('}')) {
            const auto key = string();
            if (!key || !take(':') || !value(*key, header)) return malformed("the header is damaged");
            take(',');
        }
        if (!header.descr || !header.fortran_order || !header.shape)
            return malformed("the header lacks a key");
        return header;
    }

  private:
    static tl::unexpected<Error> malformed(const char* why) {
        return fail(Errc::npy_malformed, std::string(why));
    }

    bool take(char wanted) {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t'))
            rest_.remove_prefix(1);
        if (rest_.empty() || rest_.front() != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool word(std::string_view wanted) {
        while (rest_.starts_with(' ')) rest_.remove_prefix(1);
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(wanted.size());
        return true;
    }

    std::optional<std::string> string() {
        const char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
        const std::size_t end = quote ? rest_.find(quote) : std::string_view::npos;
        if (end == std::string_view::npos) return {};
        std::string text(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        return text;
    }

    std::optional<std::vector<std::uint64_t>> tuple() {
        if (!take('(')) return {};
        std::vector<std::uint64_t> values;
        while (!take(')')) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
            if (error != std::errc()) return {};
            rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
            if (rest_.starts_with('L')) rest_.remove_prefix(1);  // written by Python 2
            values.push_back(value);
            if (!take(',') && !rest_.starts_with(')')) return {};
            while (rest_.starts_with(' ')) rest_.remove_prefix(1);
        }
        return values;
    }

    bool value(std::string_view key, Header& header) {
        if (key == "descr")
            return take('[') ? (header.descr = "a structure", skip_list())
                             : (header.descr = string()).has_value();
        if (key == "shape") return (header.shape = tuple()).has_value();
        if (key != "fortran_order") return false;
        if (word("True")) header.fortran_order = true;
        if (word("False")) header.fortran_order = false;
        return header.fortran_order.has_value();
    }

    // A structured dtype is a list of tuples. It is refused later; here only its end matters.
    bool skip_list() {
        int depth = 1;
        std::size_t at = 0;
        for (; at < rest_.size() && depth > 0; ++at) depth += (rest_[at] == '[') - (rest_[at] == ']');
        rest_.remove_prefix(at);
        return depth == 0;
    }

    std::string_view rest_;
};

// Bytes of an element; the error says what is not supported.
Expected<std::size_t> element_bytes(std::string_view dtype) {
    static constexpr std::string_view supported[] = {"b1", "i1", "i2", "i4", "i8", "u1",
                                                     "u2", "u4", "u8", "f2", "f4", "f8"};
    if (dtype.size() > 1 && dtype.front() == '>')
        return fail(
            Errc::npy_not_supported,
            fmt::format("big-endian elements ({}); store them with a.astype('<{}')", dtype, dtype.substr(1)));
    const std::string_view kind = dtype.substr(dtype.empty() ? 0 : 1);
    const bool known = std::find(std::begin(supported), std::end(supported), kind) != std::end(supported);
    if (!known || (dtype.front() != '<' && dtype.front() != '|' && dtype.front() != '='))
        return fail(Errc::npy_not_supported,
                    fmt::format("elements of dtype {}; supported: {}", dtype, fmt::join(supported, " ")));
    return static_cast<std::size_t>(kind[1] - '0');
}

std::uint32_t little_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

// Splits off the header's text; `bytes` becomes what follows it.
Expected<std::string_view> take_header(std::string_view& bytes) {
    if (!bytes.starts_with(magic))
        return fail(Errc::npy_malformed, std::string("it does not start as a NumPy file"));
    if (bytes.size() < 8) return fail(Errc::npy_malformed, std::string("it ends within the header"));
    const int major = bytes[6];
    if (major < 1 || major > 3)
        return fail(Errc::npy_not_supported, fmt::format("format version {}; supported: 1.0 to 3.0", major));
    const std::size_t size_bytes = major == 1 ? 2 : 4;
    const std::size_t begin = 8 + size_bytes;
    const std::size_t length = bytes.size() < begin ? 0 : little_endian(bytes.substr(8, size_bytes));
    if (bytes.size() < begin + length || bytes.size() < begin)
        return fail(Errc::npy_malformed, std::string("it ends within the header"));
    const std::string_view header = bytes.substr(begin, length);
    bytes.remove_prefix(begin + length);
    return header;
}

// Fortran order has the first index fastest: walk the indices in C order and pick each element from its
// place.
void to_c_order(Array& array, std::size_t element) {
    const std::size_t rank = array.shape.size();
    if (array.data.empty() || rank < 2) return;
    std::vector<std::uint64_t> strides(rank, element), index(rank, 0);
    for (std::size_t i = 1; i < rank; ++i) strides[i] = strides[i - 1] * array.shape[i - 1];
    std::vector<std::byte> ordered(array.data.size());
    std::uint64_t from = 0;
    for (std::size_t to = 0; to < ordered.size(); to += element) {
        std::memcpy(&ordered[to], &array.data[from], element);
        for (std::size_t i = rank; i-- > 0;) {
            from += strides[i];
            if (++index[i] < array.shape[i]) break;
            from -= strides[i] * array.shape[i];
            index[i] = 0;
        }
    }
    array.data = std::move(ordered);
}

// repr() of a tuple: (), (3,), (3, 4)
std::string tuple_text(const std::vector<std::uint64_t>& shape) {
    return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

}  // namespace

Expected<std::uint64_t> element_count(const std::vector<std::uint64_t>& shape) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 60;  // times 8 bytes is still a size
    if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return std::uint64_t{0};
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) {
        if (extent > limit / count)
            return fail(Errc::argument_invalid, fmt::format("the shape {} is too large", tuple_text(shape)));
        count *= extent;
    }
    return count;
}

Expected<Array> read_npy(std::string_view bytes) {
    const auto text = take_header(bytes);
    if (!text) return tl::unexpected(text.error());
    const auto header = HeaderReader(*text).read();
    if (!header) return tl::unexpected(header.error());
    const auto element = element_bytes(*header->descr);
    if (!element) return tl::unexpected(element.error());
    const auto count = element_count(*header->shape);
    if (!count) return tl::unexpected(count.error());
    if (bytes.size() < *count * *element)
        return fail(Errc::npy_malformed,
                    fmt::format("it is truncated: shape {} of {} needs {} bytes of data, the file has {}",
                                tuple_text(*header->shape), *header->descr, *count * *element, bytes.size()));
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    Array array{*header->descr, *header->shape, {data, data + *count * *element}};
    if (*header->fortran_order) to_c_order(array, *element);
    return array;
}

std::string write_npy(const Array& array) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", array.dtype,
                                     tuple_text(array.shape));
    // numpy.save leaves room for the first extent to grow to 21 digits, then fills up to the alignment with
    // at least one blank before the line end.
    if (!array.shape.empty())
        header.append(21 - std::min<std::size_t>(21, std::to_string(array.shape[0]).size()), ' ');
    const std::size_t length = magic.size() + 4 + header.size() + 1;
    header.append(alignment - length % alignment, ' ').push_back('\n');
    std::string file(magic);
    file += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
    file += header;
    file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    return file;
}

}  // namespace ptxgraft::array
