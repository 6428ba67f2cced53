# export.awk: results/export.csv and results/tables.csv as tables, -v targets=FILE for the summary.
BEGIN { FS = "," }
FNR == 1 { header(); file++; next }
file == 1 {
    g = at("format") SUBSEP at("threads")
    if (!(g in rows)) groups[++n] = g
    rows[g] = at("rows")
    who = at("who")
    bytes[g, who] = at("bytes")
    push(seconds, runs, g SUBSEP who, at("seconds"))
    took[g, at("pair"), who] = at("seconds")
    if ((g, at("pair"), "duckdb") in took && (g, at("pair"), "tensortrace") in took)
        push(ratio, pairs, g, took[g, at("pair"), "duckdb"] / took[g, at("pair"), "tensortrace"])
    next
}
{
    g = at("table") SUBSEP at("step")
    if (!(at("table") in seen)) { seen[at("table")]; names[++n_names] = at("table") }
    of[at("table")] = at("rows")
    size[at("table")] = at("bytes")
    push(cpu, times, g, at("cpu_seconds"))
}

function rate(g, who,    s) {
    s = median_of(seconds, g SUBSEP who, runs[g SUBSEP who])
    return s ? rows[g] / s / 1e6 : 0
}

END {
    print "\n| format | threads | rows | M rows/s | DuckDB's | times as fast (median of the pairs) | MB | DuckDB's |"
    print "|---|--:|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n; i++) {
        g = groups[i]
        split(g, part, SUBSEP)
        printf "| %s | %d | %s | %.1f | %.1f | %.1f | %s | %s |\n", part[1], part[2], grouped(rows[g], 0), rate(g, "tensortrace"), \
            rate(g, "duckdb"), median_of(ratio, g, pairs[g]), grouped(bytes[g, "tensortrace"] / 1e6, 0), grouped(bytes[g, "duckdb"] / 1e6, 0)
    }
    print "\nA row of one table, on one core (processor time, medians):\n"
    print "| table | reading the trace and making the row | encoding it as Parquet | M rows/s encoded | M rows/s in all | bytes |"
    print "|---|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n_names; i++) {
        t = names[i]
        made = median_of(cpu, t SUBSEP "fill", times[t SUBSEP "fill"]) / of[t] * 1e9
        all = median_of(cpu, t SUBSEP "encode", times[t SUBSEP "encode"]) / of[t] * 1e9
        printf "| %s | %.0f ns | %.0f ns | %.0f | %.0f | %.1f |\n", t, made, all - made, 1e3 / (all - made), 1e3 / all, size[t] / of[t]
        if (t == "lanes")
            printf "| Parquet, rows of `lanes`, a core: encoded | >= 30 M/s | %.0f M/s (%.0f M/s with reading the trace) | %s |\n", \
                1e3 / (all - made), 1e3 / all, (1e3 / (all - made) >= 30 ? "yes" : "**no**") >targets
    }
}
