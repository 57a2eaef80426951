// Operands that are made when a program runs.

#include "ptxgraft/dsl/any_operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dsl/identifier.hpp"
#include "isa/special.hpp"

namespace ptxgraft::dsl {
namespace {

std::string joined(std::span<const AnyOperand> all) {
    std::string out;
    for (const AnyOperand& one : all) out.append(out.empty() ? "" : ", ").append(one.text());
    return out;
}

}  // namespace

AnyOperand::AnyOperand(ShapeKind kind, std::string text, std::span<const AnyOperand> children)
    : text_(std::move(text)) {
    auto shapes = std::make_shared<std::vector<Shape>>();
    for (const AnyOperand& child : children) {
        shapes->push_back(child.shape_);
        if (child.children_ != nullptr) kept_.push_back(child.children_);
        kept_.insert(kept_.end(), child.kept_.begin(), child.kept_.end());
    }
    children_ = std::move(shapes);
    shape_ = {.kind = kind, .count = static_cast<std::uint32_t>(children.size()), .children = *children_};
}

AnyOperand AnyOperand::reg(std::string_view name, Type type) {
    AnyOperand made;
    if (!is_identifier(name) || type >= Type::none) return made;
    made.text_ = name;
    made.shape_ = {.kind = ShapeKind::reg, .type = type};
    return made;
}

AnyOperand AnyOperand::variable(std::string_view name, Space space) {
    AnyOperand made;
    if (!is_identifier(name)) return made;
    made.text_ = name;
    made.shape_ = {.kind = ShapeKind::variable,
                   .space = space == Space::shared_cluster ? Space::shared : space};
    return made;
}

AnyOperand AnyOperand::special(std::string_view name) {
    AnyOperand made;
    const auto found = isa::find_special(name);
    if (!found) return made;
    made.text_ = name;
    made.shape_ = {.kind = found->is_whole_vector ? ShapeKind::special_vector : ShapeKind::special,
                   .type = found->row->type};
    return made;
}

AnyOperand AnyOperand::named(std::string_view name, ShapeKind kind) {
    constexpr std::array kinds = {ShapeKind::label,     ShapeKind::function, ShapeKind::targets,
                                  ShapeKind::prototype, ShapeKind::texture,  ShapeKind::sampler,
                                  ShapeKind::surface};
    AnyOperand made;
    if (!is_identifier(name) || std::ranges::find(kinds, kind) == kinds.end()) return made;
    made.text_ = name;
    made.shape_.kind = kind;
    return made;
}

AnyOperand AnyOperand::vector(std::span<const AnyOperand> elements) {
    return {ShapeKind::vector, "{" + joined(elements) + "}", elements};
}
AnyOperand AnyOperand::pair(const AnyOperand& first, const AnyOperand& second) {
    const AnyOperand both[] = {first, second};
    return {ShapeKind::pair, first.text_ + "|" + second.text_, both};
}
AnyOperand AnyOperand::address(std::span<const AnyOperand> parts) {
    return {ShapeKind::address, "[" + joined(parts) + "]", parts};
}
AnyOperand AnyOperand::sum(const AnyOperand& base, std::int64_t bytes) {
    if (base.shape_.kind != ShapeKind::reg && base.shape_.kind != ShapeKind::variable) return {};
    return {ShapeKind::sum, bytes == 0 ? base.text_ : fmt::format("{}+{}", base.text_, bytes), {&base, 1}};
}
AnyOperand AnyOperand::list(std::span<const AnyOperand> elements) {
    return {ShapeKind::list, "(" + joined(elements) + ")", elements};
}
AnyOperand AnyOperand::negated(const AnyOperand& predicate) {
    if (predicate.shape_.kind != ShapeKind::reg || predicate.shape_.type != Type::pred) return {};
    return {ShapeKind::negated, "!" + predicate.text_, {&predicate, 1}};
}
AnyOperand AnyOperand::minus(const AnyOperand& reg) {
    if (reg.shape_.kind != ShapeKind::reg) return {};
    return {ShapeKind::minus, "-" + reg.text_, {&reg, 1}};
}

AnyOperand AnyOperand::part(const AnyOperand& reg, std::string_view part) {
    if (reg.shape_.kind != ShapeKind::reg || !part.starts_with('.') || !is_identifier(part.substr(1)))
        return {};
    AnyOperand made = reg;
    made.text_.append(part);
    made.shape_.kind = ShapeKind::selector;
    auto text = std::make_shared<const std::string>(part);
    made.shape_.part = *text;
    made.kept_.push_back(std::move(text));
    return made;
}

}  // namespace ptxgraft::dsl
