# viewer.awk: results/viewer.csv as a table, -v targets=FILE for the summary.
BEGIN { FS = "," }
$1 != "trace" {
    key = $1 SUBSEP $2
    if (!(key in seen)) { seen[key] = 1; order[++n] = key }
    p50[key, $3] = $5
    p95[key, $3] = $6
}

function s(ms) { return ms == "" ? "" : sprintf("%.2f s", ms / 1000) }
function pair(key, what) { return (key SUBSEP what) in p50 ? sprintf("%.1f, %.1f ms", p50[key, what], p95[key, what]) : "" }

END {
    printf "\nThe timeline of made-up traces, all lanes of the whole run, in headless Chromium on this machine, which has no\n"
    printf "GPU: WebGL is drawn by its processor (SwiftShader), and so are all frames. `page`: from opening the page of a\n"
    printf "server that has read the trace; `start`: from starting the server. Frames while a key is held: p50, p95 of what\n"
    printf "our own code takes of one, and of the time between two, most of which the browser takes.\n\n"
    print "| records | drawn by | start | page | own work, pan | own work, zoom | between frames, pan | zoom |"
    print "|--:|---|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n; i++) {
        split(order[i], part, SUBSEP)
        records = part[1]
        gsub(/[^0-9]/, "", records)
        k = order[i]
        printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", grouped(records, 0), part[2], s(p50[k, "first picture"]), s(p50[k, "page"]), \
            pair(k, "pan (own work)"), pair(k, "zoom (own work)"), pair(k, "pan"), pair(k, "zoom")
    }
    k = "view-10000000.ttrace" SUBSEP "webgl2"
    if (k in seen) {
        printf "| first picture of 10 M records, from opening the page | < 1 s | %s | %s |\n", s(p50[k, "page"]), p50[k, "page"] < 1000 ? "yes" : "**no**" >targets
        printf "| pan and zoom, p95: our own work a frame | <= 16.7 ms | %.1f and %.1f ms | %s |\n", p95[k, "pan (own work)"], p95[k, "zoom (own work)"], \
            p95[k, "pan (own work)"] <= 16.7 && p95[k, "zoom (own work)"] <= 16.7 ? "yes" : "**no**" >targets
        printf "| pan and zoom, p95: between frames, without a GPU | <= 16.7 ms | %.1f and %.1f ms | %s |\n", p95[k, "pan"], p95[k, "zoom"], \
            p95[k, "pan"] <= 16.7 && p95[k, "zoom"] <= 16.7 ? "yes" : "**no**" >targets
    }
}
