# diff.awk: results/diff.json as a table, -v targets=FILE for the summary.
match($0, /"[a-z_]+": [0-9.e+]+/) {
    split(substr($0, RSTART + 1, RLENGTH - 1), part, "\": ")
    v[part[1]] = part[2]
}

function rate(key) { return sprintf("%.0f M records/s", v[key] / 1e6) }

END {
    printf "\n`tensortrace diff` of two made-up traces of the same graph that differ in their noise, %s op records in both\ntogether, medians of %d runs:\n\n", \
        grouped(v["records"], 0), v["runs"]
    print "| what | measured |"
    print "|---|--:|"
    printf "| on one core | %.2f s, %s |\n", v["one_core_s"], rate("one_core_records_per_s")
    printf "| on all cores (a thread a trace) | %.2f s, %s |\n", v["all_cores_s"], rate("all_cores_records_per_s")
    printf "| on one core, without what a tenth of the records takes | %s |\n", rate("per_record_records_per_s")
    printf "| resident memory; of a tenth of the records | %s MB; %s MB |\n", grouped(v["peak_rss_bytes"] / 1e6, 0), grouped(v["tenth_peak_rss_bytes"] / 1e6, 0)
    printf "| `stats` of one of the two, one core, to compare | %.2f s |\n", v["stats_s"]
    if ("one_core_records_per_s" in v)
        printf "| `diff`, aligned records, one core | >= 600 M/s | %.0f M/s | %s |\n", v["one_core_records_per_s"] / 1e6, \
            (v["records"] < 0.999e8 ? "too few records to tell" : v["one_core_records_per_s"] >= 6e8 ? "yes" : "**no**") >targets
}
