# scale.awk: results/scale.json as a table, -v targets=FILE for the summary.
match($0, /"[a-z_]+": [0-9.e+]+/) {
    split(substr($0, RSTART + 1, RLENGTH - 1), part, "\": ")
    v[part[1]] = part[2]
}

function ms(key) { return sprintf("%.1f ms", 1000 * v[key]) }

# Nothing without the figure it is made of.
function row(key, what, figure) { if (key in v) printf "| %s | %s |\n", what, figure }

# Targets are for 100 million records; whole tokens make it a few less.
function target(key, what, goal, figure, ok,    word) {
    word = v["records"] < 0.999e8 ? "too few records to tell" : ok ? "yes" : "**no**"
    if (key in v) printf "| %s, %s M records | %s | %s | %s |\n", what, sprintf("%.3g", v["records"] / 1e6), goal, figure, word >targets
}

END {
    printf "\nA made-up trace of %s op records (%s MB, %.2f bytes each), on one core, medians of %d runs:\n\n", \
        grouped(v["records"], 0), grouped(v["file_bytes"] / 1e6, 0), v["file_bytes"] / v["records"], v["runs"]
    print "| what | measured |"
    print "|---|--:|"
    row("open_s", "open", ms("open_s"))
    row("stats_s", "open and `stats`", sprintf("%.2f s, %s MB resident", v["stats_s"], grouped(v["stats_peak_rss_bytes"] / 1e6, 0)))
    row("log_page_s", "100 rows of the `log`, by token, the slowest of three places", ms("log_page_s"))
    row("log_page_tenth_s", "the same in a trace of a tenth of the records", ms("log_page_tenth_s"))
    row("log_page_time_s", "100 rows of the `log`, by time", ms("log_page_time_s"))
    row("filter_records_per_s", "the slowest of the filters", sprintf("%.0f M records/s", v["filter_records_per_s"] / 1e6))
    row("log_json_rows_per_s", "`log --json`", sprintf("%.2f M rows/s", v["log_json_rows_per_s"] / 1e6))
    row("log_table_rows_per_s", "`log`", sprintf("%.2f M rows/s", v["log_table_rows_per_s"] / 1e6))
    target("stats_s", "open and `stats` on one core", "<= 2 s", sprintf("%.2f s", v["stats_s"]), v["stats_s"] <= 2)
    target("log_page_s", "a page of `log`", "< 100 ms", ms("log_page_s"), v["log_page_s"] < 0.1)
    target("filter_records_per_s", "filters, a core", ">= 50 M/s", sprintf("%.0f M/s", v["filter_records_per_s"] / 1e6), v["filter_records_per_s"] >= 5e7)
}
