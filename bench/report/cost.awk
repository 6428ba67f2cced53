# cost.awk: results/cost.csv as tables, -v data=FILE for the plot, -v targets=FILE for the summary.
BEGIN { FS = "," }
NR == 1 { header(); next }
{
    way = at("name"); setting = at("setting"); g = setting SUBSEP way
    if (!(way in seen)) { seen[way] = 1; ways[++n_ways] = way }
    push(median, n, g, at("op_median_ns"))
    push(mean, n_mean, g, at("op_mean_ns"))
    push(p50, n_p50, g, at("single_p50_ns")); push(p999, n_p999, g, at("single_p999_ns"))
    push(b50, n_b50, g, at("boundary_p50_ns")); push(b999, n_b999, g, at("boundary_p999_ns"))
    push(cycles, n_cycles, g, at("op_median_ns") * at("cycles_per_ns"))
    push(cpu, n_cpu, g, at("cpu_ns"))
    push(per_ns, n_per_ns, "", at("cycles_per_ns"))
    push(ticks, n_ticks, "", at("ticks_per_ns"))
    push(clock, n_clock, "", at("clock_p50_ns"))
    if (at("op_median_ns")) of_round[at("round"), g] = at("op_median_ns")
    threads[setting] = at("threads")
    ops[g] += at("ops"); lost[g] += at("lost")
    if (at("bytes") != "") { bytes[way] += at("bytes"); bytes_ops[way] += at("ops") - at("lost") }
    if (at("round") > rounds) rounds = at("round")
    has_halves[g] = at("boundary_p50_ns") != ""
}

# The median over rounds of a's figure against b's, minus or divided, in the same round.
function against(a, b, how,    r, m, v, x, y) {
    m = 0
    for (r = 1; r <= rounds; r++) {
        x = of_round[r, a]; y = of_round[r, b]
        if (x == "" || y == "") continue
        v[++m] = how == "-" ? x - y : x / y
    }
    sort(v, m)
    return quantile(v, m, 0.5)
}

function range(value, g, count,    a) {
    take(value, g, count, a)
    return sprintf("%.1f..%.1f", a[1], a[count])
}

function row(setting, way,    g, c) {
    g = setting SUBSEP way
    c = n[g]
    if (!c) return
    printf "| %s | %.1f | %s | %.0f | %.1f | %.2f | %.0f | %s | %s | %s |\n", \
        way, median_of(median, g, c), range(median, g, c), median_of(cycles, g, c), \
        median_of(median, g, c) / 2, against(g, setting SUBSEP "time stamp", "/"), \
        median_of(p50, g, c), grouped(median_of(p999, g, c), 0), \
        has_halves[g] ? sprintf("%.0f", median_of(b50, g, c)) : "-", \
        has_halves[g] ? grouped(median_of(b999, g, c), 0) : "-"
}

function table(setting, title,    i) {
    print "\n**" title "**\n"
    print "| way | ns/op | rounds | cycles/op | ns/boundary | against the time stamps | p50 | p99.9 | p50 of a boundary | p99.9 of a boundary |"
    print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n_ways; i++) row(setting, ways[i])
}

function verdict(ok) { return ok ? "yes" : "**no**" }

# The targets, a line each: what, target, measured, met.
function put_targets(    g, b, u, setting, v, worst, where, bare) {
    for (v = 1; v <= 3; v++) {
        setting = v == 1 ? "one" : v == 2 ? "all" : "shared"
        g = setting SUBSEP "tensortrace"
        b = against(g, setting SUBSEP "time stamp", "-") / 2
        if (v == 1 || b > worst) worst = b
        u = median_of(b999, g, n[g])
        if (v == 1 || u > where) {
            where = u
            bare = median_of(b999, setting SUBSEP "time stamp", n[setting SUBSEP "time stamp"])
        }
    }
    if (worst < 0) worst = 0 # less than can be told apart
    printf "| cost of a recorded boundary above the bare time stamp (worst of three settings) | <= 5 ns | %.1f ns | %s |\n", worst, verdict(worst <= 5) >targets
    printf "| p99.9 of a recorded boundary, the time stamp included (worst of three settings; a bare time stamp's there: %.0f ns) | <= 60 ns | %.0f ns | %s |\n", bare, where, verdict(where <= 60) >targets
    put_rival("LTTng-UST")
    put_rival("uftrace")
}

function put_rival(name,    g, r, most) {
    g = "one" SUBSEP name
    if (!n[g]) {
        printf "| %s's cost of an op against ours | >= 5 times | not measured | - |\n", name >targets
        return
    }
    r = against(g, "one" SUBSEP "tensortrace", "/")
    most = against(g, "one" SUBSEP "time stamp", "/")
    printf "| %s's cost of an op against ours (with time stamps alone it would be %.1f) | >= 5 times | %.1f times | %s |\n", name, most, r, verdict(r >= 5) >targets
}

END {
    table("one", "One thread")
    if (n["all" SUBSEP "tensortrace"] && threads["all"] > 1)
        table("all", threads["all"] " threads at once: all CPUs, so that whatever writes the file competes with them")
    table("shared", "One thread, on the same CPU as whatever writes the file")
    g = "flat" SUBSEP "tensortrace"
    printf "\nAs fast as the drain makes room (%d at once), nothing lost: %.0f ns of CPU time an op for everything: ", threads["flat"], median_of(cpu, g, n_cpu[g])
    printf "recording, encoding, compressing, writing the file, and waiting for room.\n"
    any = 0
    for (i = 1; i <= n_ways; i++)
        for (k = 1; k <= 3; k++) {
            setting = k == 1 ? "one" : k == 2 ? "all" : "shared"
            g = setting SUBSEP ways[i]
            if (lost[g]) {
                printf "%s%s lost %.1f %% of its ops (%s).", any ? " " : "\n", ways[i], 100 * lost[g] / ops[g], setting
                any = 1
            }
        }
    print any ? "" : "\nNo way lost an op."
    printf "\nThe core made %.2f cycles a ns (a chain of dependent additions), the time-stamp counter %.3f ticks.\n", \
        median_of(per_ns, "", n_per_ns[""]), median_of(ticks, "", n_ticks[""])
    printf "Timing one op alone costs %.0f ns by itself, which the percentiles leave out.\n", median_of(clock, "", n_clock[""])
    for (i = 1; i <= n_ways; i++) {
        g = "one" SUBSEP ways[i]
        printf "\"%s\" %.3f %.3f %.3f\n", ways[i], median_of(median, g, n[g]), median_of(p50, g, n[g]), median_of(p999, g, n[g]) >data
    }
    for (way in bytes) printf "%s,%.3f\n", way, bytes[way] / bytes_ops[way] >rivals
    put_targets()
}
