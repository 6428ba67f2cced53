# frames.awk: results/frames.csv as a table, -v targets=FILE for the summary.
function met(ms) {
    return ms + 0 <= 16.7 ? "yes" : "**no**"
}

BEGIN {
    printf "\nWhat each view computes for a frame while somebody works with it: processor time of the page's main thread since the\n"
    printf "frame before (script, layout, painting, reading answers), not what other threads and processes draw without a GPU; and of\n"
    printf "it the view's own work: scripts, style and layout, without the browser's painting and handing over.\n\n"
    print "| view | at work | frames | all, p50 | all, p95 | most | own work, p50 | own work, p95 | p95 <= 16.7 ms: own, all |"
    print "|---|---|--:|--:|--:|--:|--:|--:|---|"
}
FNR > 1 {
    cells($0, v)
    printf "| %s | %s | %s | %s ms | %s ms | %s ms | %s ms | %s ms | %s, %s |\n", v[1], v[2], v[4], v[5], v[6], v[7], v[9], v[10], met(v[10]), met(v[6])
    n++
    if (v[6] + 0 > 16.7) above++
    if (v[10] + 0 > 16.7) own_above++
    if (v[10] + 0 > worst) { worst = v[10] + 0; who = v[1] ": " v[2] }
}

END {
    if (n && targets != "") printf "| each view at work, own work a frame, p95 (with the browser's painting: %d of %d) | <= 16.7 ms | %d of %d; most %.1f ms (%s) | %s |\n", n - above, n, n - own_above, n, worst, who, own_above ? "**no**" : "yes" >targets
}
