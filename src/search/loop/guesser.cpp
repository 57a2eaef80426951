// Surrogates in the loop: which candidates are not assembled, and which come first.

#include "search/loop/guesser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/random.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::string_view beginning = "guessed ";
constexpr std::uint64_t guess_stream = ~std::uint64_t{0} - 1;  // no attempt at a draw has this number

}  // namespace

std::string guess_text(const CodeSize& guess) {
    const bool is_registers = guess.registers != 0;
    return fmt::format("{}{} {}: not assembled", beginning, is_registers ? guess.registers : guess.code_bytes,
                       is_registers ? "registers" : "bytes of code");
}

bool is_guessed(const Result& result) {
    return result.status == Status::rejected && result.detail.starts_with(beginning);
}

Guesser::Guesser(const Space& space, const GuessOptions& options, std::uint64_t seed)
    : options_(options), seed_(seed), cost_(Surrogate::make(space)) {
    const auto add = [&](std::uint32_t CodeSize::*figure, std::uint32_t limit) {
        if (limit != 0)
            limited_.push_back({Surrogate::make(space, {.limit = static_cast<double>(limit)}), figure});
    };
    add(&CodeSize::registers, options.registers);
    add(&CodeSize::code_bytes, options.code_bytes);
}

void Guesser::learn(const Genome& genome, const Result& result) {
    const bool has_cost = result.status == Status::ok && std::isfinite(result.cost);
    if (!result.code && !has_cost) return;
    const Candidate candidate{.index = result.index, .genome = genome, .key = {}};
    const Candidate* const one[] = {&candidate};
    // a genome of the space and finite numbers: there is no error
    if (result.code)
        for (Limited& limited : limited_) {
            const double value[] = {static_cast<double>((*result.code).*limited.figure)};
            (void)limited.surrogate.learn(one, value);
        }
    const double cost[] = {result.cost};
    if (has_cost) (void)cost_.learn(one, cost);
}

void Guesser::guess(std::vector<Candidate>& block, std::uint64_t fixed) const {
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < block.size(); ++k)
        if (block[k].refine == Refine::none && block[k].index >= fixed) places.push_back(k);
    if (places.empty()) return;
    order(block, places);
    mark(block, places);
}

namespace {

std::vector<const Candidate*> at(const std::vector<Candidate>& block,
                                 const std::vector<std::size_t>& places) {
    std::vector<const Candidate*> made;
    for (const std::size_t place : places) made.push_back(&block[place]);
    return made;
}

}  // namespace

void Guesser::order(std::vector<Candidate>& block, const std::vector<std::size_t>& places) const {
    if (!cost_.is_trusted()) return;
    const auto order = cost_.order(at(block, places));
    if (!order) return;
    std::vector<Candidate> moved;
    for (const std::size_t from : *order) moved.push_back(std::move(block[places[from]]));
    std::vector<std::uint64_t> indices;
    for (const Candidate& candidate : moved) indices.push_back(candidate.index);
    std::ranges::sort(indices);  // those of the places
    for (std::size_t k = 0; k < places.size(); ++k) {
        block[places[k]] = std::move(moved[k]);
        block[places[k]].index = indices[k];
    }
}

void Guesser::mark(std::vector<Candidate>& block, const std::vector<std::size_t>& places) const {
    for (const Limited& limited : limited_) {
        if (!limited.surrogate.is_trusted()) continue;
        const auto guesses = limited.surrogate.predict(at(block, places));
        if (!guesses) return;
        for (std::size_t k = 0; k < places.size(); ++k) {
            Candidate& candidate = block[places[k]];
            const double guess = (*guesses)[k];
            if (!limited.surrogate.is_surely_beyond(guess) || candidate.guess != CodeSize{}) continue;
            if (random_for(seed_, candidate.index, guess_stream).chance(options_.share)) continue;
            candidate.guess.*limited.figure = static_cast<std::uint32_t>(std::min(guess, 4e9));
        }
    }
}

}  // namespace ptxgraft::search
