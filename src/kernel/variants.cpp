// Texts of several candidates: which functions each has of its own, and their names.
#include "kernel/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/try.hpp"
#include "kernel/banks.hpp"
#include "kernel/candidate.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft {
namespace kernel {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

// The words of a module's functions, and where they stand.
class FunctionWords {
  public:
    explicit FunctionWords(const syntax::Module& module) {
        std::vector<syntax::Token> tokens;
        for (const syntax::Statement s : module.statements()) {
            if (s.kind() != syntax::StatementKind::function) {
                s.tokens(tokens);
                add(tokens, outside_);
                continue;
            }
            Function& function = functions_.emplace_back(Function{std::string(s.name()), s.span(), {}});
            s.tokens(tokens);
            add(tokens, function.words);
            for (const syntax::Statement inner : s.walk()) {
                inner.tokens(tokens);
                add(tokens, function.words);
            }
        }
    }
    struct Word {
        std::string_view text;
        Span span;
    };
    struct Function {
        std::string name;
        Span span;
        std::vector<Word> words;
    };
    [[nodiscard]] const std::vector<Function>& functions() const { return functions_; }
    [[nodiscard]] const std::vector<Word>& outside() const { return outside_; }

  private:
    static void add(const std::vector<syntax::Token>& tokens, std::vector<Word>& words) {
        for (const syntax::Token& token : tokens)
            if (token.kind == syntax::TokenKind::identifier)
                words.push_back(
                    {token.text,
                     {token.offset, token.offset + static_cast<std::uint32_t>(token.text.size())}});
    }
    std::vector<Function> functions_;
    std::vector<Word> outside_;
};

// The functions that hold copies, and those that name one of these.
std::unordered_set<std::string_view> functions_of_variants(const FunctionWords& words, const Sites& sites) {
    std::unordered_set<std::string_view> wanted;
    for (const Sites::Function& holder : sites.functions) wanted.insert(holder.name);
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (const auto& function : words.functions()) {
            if (wanted.contains(function.name)) continue;
            const bool names_one = std::ranges::any_of(
                function.words, [&](const auto& word) { return wanted.contains(word.text); });
            if (names_one) has_changed = wanted.insert(function.name).second;
        }
    }
    return wanted;
}

}  // namespace

Expected<VariantPlan> VariantPlan::make(const std::string& ptx, const Sites& sites) {
    const auto module = TRY(syntax::parse(ptx));
    const FunctionWords words(module);
    const auto wanted = functions_of_variants(words, sites);
    std::unordered_set<std::string_view> all;
    for (const auto& word : words.outside()) {
        if (wanted.contains(word.text))
            return fail(
                Errc::argument_invalid, word.span,
                fmt::format("variants of the function {}, which the module names outside of functions",
                            word.text));
        all.insert(word.text);
    }
    VariantPlan plan;
    for (const auto& function : words.functions()) {
        for (const auto& word : function.words) all.insert(word.text);
        if (!wanted.contains(function.name)) continue;
        Region& region = plan.regions_.emplace_back(Region{function.span, {}});
        for (const auto& word : function.words)
            if (wanted.contains(word.text)) region.names.push_back(word.span);
        std::ranges::sort(region.names, {}, &Span::begin);
    }
    for (const std::string_view name : wanted) plan.functions_.emplace_back(name);
    const auto is_taken = [&](const std::string& begin) {
        return std::ranges::any_of(all, [&](std::string_view word) {
            return word.starts_with(begin) && word.size() > begin.size() &&
                   std::ranges::all_of(word.substr(begin.size()),
                                       [](char c) { return c >= '0' && c <= '9'; });
        });
    };
    // Nor does a function that stands there once end as if it were a variant's.
    const auto looks_like_one = [&](const auto& function) {
        const std::size_t number = function.name.find_last_not_of("0123456789") + 1;
        return !wanted.contains(function.name) && number < function.name.size() &&
               function.name.substr(0, number).ends_with(plan.separator_);
    };
    while (std::ranges::any_of(words.functions(), looks_like_one) ||
           std::ranges::any_of(plan.functions_,
                               [&](const std::string& name) { return is_taken(name + plan.separator_); }))
        plan.separator_ += '_';
    return plan;
}

bool VariantPlan::takes(const Candidate& candidate) const {
    return !candidate.has(Route::link) &&
           std::ranges::none_of(candidate.filled, [&](const RoutePlan::Filled& one) {
               return std::ranges::any_of(functions_, [&](const std::string& name) {
                   return launch::count_name(one.ptx(), name) != 0;
               });
           });
}

std::string VariantPlan::suffix(std::size_t number) const { return separator_ + std::to_string(number); }

std::string VariantPlan::name_in(std::string_view function, std::string_view suffix) const {
    const bool is_own = std::ranges::find(functions_, function) != functions_.end();
    return std::string(function).append(is_own ? suffix : std::string_view());
}

namespace {

// The pieces of one candidate's text, with names of its own, and the names of its functions.
class Variant {
  public:
    Variant(const Skeleton::Data& skeleton, const Candidate& candidate, std::string_view suffix)
        : ptx_(skeleton.ptx), suffix_(suffix), pieces_(pieces_of(candidate, LinkedAs::called)) {
        for (Piece& piece : pieces_) {
            for (const ConstantBank& bank : candidate.banks)
                piece.text = replaced(std::move(piece.text), bank.variable, bank.variable + suffix_);
            for (const RoutePlan::Filled& one : candidate.filled)
                if (one.route == Route::call) {
                    const std::string& name = candidate.plan->function_name(*one.site);
                    piece.text = replaced(std::move(piece.text), name, name + suffix_);
                }
        }
    }
    void append(std::string& text, const VariantPlan::Region& region) const {
        std::size_t at = region.span.begin;
        auto name = region.names.begin();
        const auto copy_to = [&](std::size_t end) {
            for (; name != region.names.end() && name->begin < end; ++name) {
                if (name->begin < at) continue;  // in a stub that is replaced
                text.append(ptx_, at, name->end - at).append(suffix_);
                at = name->end;
            }
            text.append(ptx_, at, end - at);
            at = end;
        };
        for (const Piece& piece : pieces_) {
            const Span at_piece = piece.replaced;
            if (at_piece.begin < region.span.begin || at_piece.begin >= region.span.end) continue;
            copy_to(piece.replaced.begin);
            text.append(piece.text);
            at = piece.replaced.end;
        }
        copy_to(region.span.end);
    }

  private:
    const std::string& ptx_;
    std::string suffix_;
    std::vector<Piece> pieces_;
};

std::shared_ptr<const launch::ModuleInfo> info_of(const launch::ModuleInfo& skeleton, const VariantPlan& plan,
                                                  std::span<const std::string> suffixes) {
    auto info = std::make_shared<launch::ModuleInfo>(skeleton);
    info->entries.clear();
    for (const launch::EntryInfo& entry : skeleton.entries) {
        std::set<std::string> names;
        for (const std::string& suffix : suffixes) names.insert(plan.name_in(entry.name, suffix));
        for (const std::string& name : names) {
            info->entries.push_back(entry);
            info->entries.back().name = name;
        }
    }
    return info;
}

}  // namespace

VariantModule render_variants(const Skeleton::Data& skeleton, const VariantPlan& plan,
                              std::span<const Candidate* const> candidates,
                              std::span<const std::string> suffixes) {
    std::vector<Variant> variants;
    std::vector<ConstantBank> banks;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        variants.emplace_back(skeleton, *candidates[i], suffixes[i]);
        for (ConstantBank bank : candidates[i]->banks) {
            bank.variable += suffixes[i];
            banks.push_back(std::move(bank));
        }
    }
    std::size_t at = skeleton.info->head_end;
    std::string text = skeleton.ptx.substr(0, at) + declarations(banks, true);
    for (const VariantPlan::Region& region : plan.regions()) {
        text.append(skeleton.ptx, at, region.span.begin - at);
        for (const Variant& variant : variants) {
            variant.append(text, region);
            text += '\n';
        }
        at = region.span.end;
    }
    text.append(skeleton.ptx, at);
    return {std::make_shared<const SourceText>(SourceText{"variants.ptx", std::move(text)}),
            info_of(*skeleton.info, plan, suffixes)};
}

}  // namespace kernel

Expected<Variants> Skeleton::render_variants(std::span<const std::vector<Graft>> candidates,
                                             const VariantOptions& options) const {
    if (!data_->variants()) return tl::unexpected(data_->variants().error());
    const kernel::VariantPlan& plan = *data_->variants();
    Variants result;
    result.suffixes = options.suffixes;
    for (std::size_t i = 0; options.suffixes.empty() && i < candidates.size(); ++i)
        result.suffixes.push_back(plan.suffix(i));
    if (result.suffixes.size() != candidates.size() ||
        std::set<std::string>(result.suffixes.begin(), result.suffixes.end()).size() != candidates.size())
        return fail(Errc::argument_invalid,
                    fmt::format("{} suffixes for {} variants; each has one of its own",
                                options.suffixes.size(), candidates.size()));
    std::vector<kernel::Candidate> planned;
    std::vector<const kernel::Candidate*> all;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        auto candidate = kernel::plan_candidate(*data_, candidates[i], options.routes);
        if (candidate && !plan.takes(*candidate))
            candidate = fail(Errc::route_not_possible,
                             std::string("a stub that is linked, or that names a function of the variants"));
        if (!candidate) {
            candidate.error().index = static_cast<std::uint32_t>(i);
            return tl::unexpected(candidate.error());
        }
        result.routes.push_back(candidate->choices);
        planned.push_back(std::move(*candidate));
    }
    for (const kernel::Candidate& candidate : planned) all.push_back(&candidate);
    result.ptx = kernel::render_variants(*data_, plan, all, result.suffixes).source->text;
    return result;
}

}  // namespace ptxgraft
