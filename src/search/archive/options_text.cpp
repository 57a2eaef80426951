// Options as JSON.

#include "search/archive/options_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ptxgraft::search {

using Json = nlohmann::ordered_json;

namespace {

Strategy strategy_of(const std::string& text) {
    for (const Strategy one : {Strategy::random, Strategy::climb})
        if (text == name(one)) return one;
    return Strategy::evolve;
}

// What is read of a file may be anything; a search checks what it is given (search.cpp).
Expected<Options> checked(Options options) {
    const std::uint32_t positive[] = {options.islands,    options.population, options.block,
                                      options.tournament, options.cell_depth, options.attempts};
    if (options.islands <= 0xFFFF && std::ranges::find(positive, 0u) == std::end(positive)) return options;
    return fail(Errc::archive_malformed, std::string("a number in its options is 0, or too large"));
}

}  // namespace

std::string text_of(const Options& options) {
    Json axes = Json::array(), operators = Json::array();
    for (const Axis& axis : options.axes) axes.push_back({{"name", axis.name}, {"edges", axis.edges}});
    for (const Operator& op : options.operators)
        operators.push_back({{"name", op.name}, {"weight", op.weight}});
    Json made{{"seed", options.seed},
              {"strategy", name(options.strategy)},
              {"axes", axes},
              {"islands", options.islands},
              {"population", options.population},
              {"block", options.block},
              {"tournament", options.tournament},
              {"cell_depth", options.cell_depth},
              {"migration", options.migration},
              {"stagnation", options.stagnation},
              {"attempts", options.attempts},
              {"refine", options.refine},
              {"operators", operators},
              {"adapt", options.adapt}};
    // what archives without it were made with
    if (options.remeasure != Options{}.remeasure) made["remeasure"] = options.remeasure;
    if (const auto& s = options.surrogate)
        made["surrogate"] = {{"registers", s->registers}, {"code_bytes", s->code_bytes}, {"share", s->share}};
    return made.dump(-1, ' ', false, Json::error_handler_t::replace);  // names may be no UTF-8
}

Expected<Options> options_of(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        Options made{.seed = json.at("seed"),
                     .strategy = strategy_of(json.at("strategy")),
                     .islands = json.at("islands"),
                     .population = json.at("population"),
                     .block = json.at("block"),
                     .tournament = json.at("tournament"),
                     .cell_depth = json.at("cell_depth"),
                     .migration = json.at("migration"),
                     .stagnation = json.at("stagnation"),
                     .attempts = json.at("attempts"),
                     .refine = json.at("refine"),
                     .operators = {},
                     .adapt = json.at("adapt")};
        made.remeasure = json.value("remeasure", made.remeasure);
        if (const auto s = json.find("surrogate"); s != json.end())
            made.surrogate = GuessOptions{
                .registers = s->at("registers"), .code_bytes = s->at("code_bytes"), .share = s->at("share")};
        for (const Json& axis : json.at("axes")) made.axes.push_back({axis.at("name"), axis.at("edges")});
        for (const Json& op : json.at("operators"))
            made.operators.push_back({op.at("name"), op.at("weight")});
        return checked(std::move(made));
    } catch (const Json::exception& wrong) {
        return fail(Errc::archive_malformed, std::string("its options cannot be read: ") + wrong.what());
    }
}

}  // namespace ptxgraft::search
