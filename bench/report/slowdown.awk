# slowdown.awk: results/slowdown.csv as tables, -v data=FILE for the plot, -v targets=FILE for the
# summary. Slow-downs are ratios of a pair's two segments, less one.
BEGIN { FS = "," }
NR == 1 { header(); next }
{
    g = at("model") SUBSEP at("threads") SUBSEP at("way")
    if (!(g in n_wall)) groups[++n_groups] = g
    add("wall", at("other_generate_wall_ns") / at("untraced_generate_wall_ns"))
    # What a recorder put off until the work was done is its cost, too.
    add("cpu", (at("other_generate_cpu_ns") + at("other_idle_cpu_ns")) / (at("untraced_generate_cpu_ns") + at("untraced_idle_cpu_ns")))
    add("prompt_wall", at("other_prompt_wall_ns") / at("untraced_prompt_wall_ns"))
    add("prompt_cpu", at("other_prompt_cpu_ns") / at("untraced_prompt_cpu_ns"))
    n_wall[g]++
    dropped[g] += at("dropped")
    wall_ms[g, n_wall[g]] = at("untraced_generate_wall_ns") / 1e6
    prompt_ms[g, n_wall[g]] = at("untraced_prompt_wall_ns") / 1e6
    last = at("pair") > last ? at("pair") : last
    rounds = at("round") > rounds ? at("round") : rounds
}

function add(what, ratio,    k) {
    k = g SUBSEP what
    push(value, n, k, 100 * (ratio - 1))
    round_of[k, n[k]] = at("round")
}

function interval(k) {
    bootstrap(value, round_of, k, n[k])
    lows[k] = low; highs[k] = high
    medians[k] = median_of(value, k, n[k])
}

function percent(v) { return sprintf("%s%.*f", v < 0 ? "-" : "+", v > 20 || v < -20 ? 0 : 2, v < 0 ? -v : v) }

# "+0.31 [-0.20, +0.80]", and the quartiles and the ends.
function cell(k) { return percent(medians[k]) " [" percent(lows[k]) ", " percent(highs[k]) "]" }

function spread(k,    a) {
    take(value, k, n[k], a)
    return percent(quantile(a, n[k], 0.25)) ".." percent(quantile(a, n[k], 0.75)) " (" percent(a[1]) ".." percent(a[n[k]]) ")"
}

function described(way) {
    if (way == "same") return "untraced, against itself"
    if (way == "hook") return "traced, hook mode"
    if (way == "callback") return "traced, callback mode"
    if (way == "faults") return "traced, hook mode, `--faults`"
    if (way == "residency") return "traced, hook mode, `--residency`"
    if (way ~ /^values-/) return "traced, hook mode, `--values=" substr(way, 8) "`"
    if (way == "eval-nothing") return "eval callback that does nothing"
    if (way == "eval-print") return "eval callback that prints values"
    return way
}

function name_of(model) { return model == "tinyllama" ? "TinyLlama shape" : model }

function table(wall, cpu, ms, title,    i, p, g) {
    print "\n**" title "**\n"
    print "| model | threads | what | untraced, ms a segment | wall time, % | quartiles (least..most) | CPU time, % |"
    print "|---|--:|---|--:|--:|--:|--:|"
    for (i = 1; i <= n_groups; i++) {
        g = groups[i]
        split(g, p, SUBSEP)
        printf "| %s | %s | %s | %s | %s | %s | %s |\n", name_of(p[1]), p[2], described(p[3]), \
            grouped(ms == "generate" ? median_of(wall_ms, g, n_wall[g]) : median_of(prompt_ms, g, n_wall[g]), 0), \
            cell(g SUBSEP wall), spread(g SUBSEP wall), cell(g SUBSEP cpu)
    }
}

function put_data(    i, p, g, k, a) {
    for (i = 1; i <= n_groups; i++) {
        g = groups[i]
        split(g, p, SUBSEP)
        k = g SUBSEP "wall"
        take(value, k, n[k], a)
        printf "%s,%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", p[1], p[2], p[3], a[1], quantile(a, n[k], 0.25), \
            medians[k], quantile(a, n[k], 0.75), a[n[k]], lows[k], highs[k] >data
    }
}

# Met: the interval's upper end is below the target. Not met: its lower end is above.
function put_target(model, way, most,    i, p, g, k, word) {
    for (i = 1; i <= n_groups; i++) {
        g = groups[i]
        split(g, p, SUBSEP)
        if (p[1] != model || p[3] != way) continue
        k = g SUBSEP "wall"
        word = highs[k] <= most ? "yes" : lows[k] > most ? "**no**" : medians[k] <= most ? "the median is; the interval is wider" : "the median is not; the interval reaches below"
        printf "| slow-down of generation, %s, %d thread%s, %s: wall time (CPU time %s %%) | <= %s %% | %s %% | %s |\n", \
            name_of(model), p[2], (p[2] == 1 ? "" : "s"), described(way), percent(medians[g SUBSEP "cpu"]), most, cell(k), word >targets
    }
}

END {
    for (i = 1; i <= n_groups; i++) {
        interval(groups[i] SUBSEP "wall"); interval(groups[i] SUBSEP "cpu")
        interval(groups[i] SUBSEP "prompt_wall"); interval(groups[i] SUBSEP "prompt_cpu")
        if (dropped[groups[i]]) lost = lost " " groups[i]
    }
    printf "\n%d pairs each, %d times %d.\n", n_wall[groups[1]], rounds, last
    table("wall", "cpu", "generate", "Generation")
    table("prompt_wall", "prompt_cpu", "prompt", "Prompt")
    if (lost) {
        gsub(SUBSEP, " ", lost)
        printf "\n**Records were dropped**, so that these figures are too low:%s\n", lost
    } else
        print "\nNo record was dropped in any traced process."
    put_data()
    put_target("tinyllama", "hook", 0.5)
    put_target("tiny", "hook", 3)
    put_target("tinyllama", "values-stats", 5)
    put_target("tinyllama", "values-hash", 10)
}
