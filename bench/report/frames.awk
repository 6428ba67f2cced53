# frames.awk: results/frames.csv as a table, -v targets=FILE for the summary.
function cells(line, cell,    n, i, quoted, part, c) {
    n = 1; quoted = 0; part = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) { cell[n++] = part; part = "" }
        else part = part c
    }
    cell[n] = part
    return n
}

BEGIN {
    printf "\nWhat each view computes for a frame while somebody works with it: processor time of the page's main thread since the\n"
    printf "frame before (script, layout, painting, reading answers), not what other threads and processes draw without a GPU.\n\n"
    print "| view | at work | frames | p50 | p95 | most | p95 <= 16.7 ms |"
    print "|---|---|--:|--:|--:|--:|---|"
}
FNR > 1 {
    cells($0, v)
    printf "| %s | %s | %s | %s ms | %s ms | %s ms | %s |\n", v[1], v[2], v[4], v[5], v[6], v[7], v[6] + 0 <= 16.7 ? "yes" : "**no**"
    n++
    if (v[6] + 0 > 16.7) above++
    if (v[6] + 0 > worst) { worst = v[6] + 0; who = v[1] ": " v[2] }
}

END {
    if (n && targets != "") printf "| each view at work, p95: the main thread a frame | <= 16.7 ms | %d of %d; most %.1f ms (%s) | %s |\n", n - above, n, worst, who, above ? "**no**" : "yes" >targets
}
