# size.awk: results/size.csv and results/columns.csv as tables, -v rivals=FILE (name,bytes an op),
# -v data=FILE for the plot, -v targets=FILE for the summary.
BEGIN {
    FS = ","
    while ((getline line < rivals) > 0) {
        split(line, p, ",")
        rival[p[1]] = p[2]
        names[++n_rivals] = p[1]
    }
    names[++n_rivals] = "256-byte records"; rival["256-byte records"] = 256
    names[++n_rivals] = "1024-byte records"; rival["1024-byte records"] = 1024
}
FNR == 1 { header(); file++; next }
file == 1 {
    g = at("model") SUBSEP at("threads")
    groups[++n] = g
    tokens = at("tokens")
    records[g] = at("op_records")
    bytes[g] = at("size_bytes") / at("op_records")
    least[g] = at("limit_bytes")
    bits[g] = sprintf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |", at("step_ticks"), at("nodes_bits"), at("rests_bits"), at("gap_bits"), at("busy_bits"), at("release_bits"))
    dropped[g] = at("dropped")
}
file == 2 {
    g = at("model") SUBSEP at("threads")
    k = at("part") (at("column") ? ": " at("column") : "")
    if (!(k in is_part)) { is_part[k] = 1; parts[++n_parts] = k }
    part[g, k] = at("stored_bytes")
}

function name_of(model) { return model == "tinyllama" ? "TinyLlama shape" : model }

# A hundredth of a byte for some model; what is not adds to "everything else".
function is_large(name,    i, large) {
    for (i = 1; i <= n; i++)
        if (part[groups[i], name] / records[groups[i]] >= 0.01) large = 1
    for (i = 1; i <= n && !large; i++) part[groups[i], "everything else"] += part[groups[i], name]
    return large
}

function put_part(name,    i, g) {
    printf "| %s |", name
    for (i = 1; i <= n; i++) {
        g = groups[i] SUBSEP name
        printf " %s |", (g in part) && part[g] != "" ? sprintf("%.3f", part[g] / records[groups[i]]) : "-"
    }
    print ""
}

END {
    printf "\nA trace of %d generated tokens, everything in the file counted, bytes for an op on a lane:\n\n", tokens
    print "| model | threads | records | stored | least, see below | dropped |"
    print "|---|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n; i++) {
        g = groups[i]; split(g, p, SUBSEP)
        printf "| %s | %s | %s | %.2f | %.2f | %s |\n", name_of(p[1]), p[2], grouped(records[g], 0), bytes[g], least[g], grouped(dropped[g], 0)
        printf "\"%s, %s thread%s\" %.3f %.3f\n", name_of(p[1]), p[2], (p[2] == 1 ? "" : "s"), bytes[g], least[g] >data
        if (p[1] == "tinyllama")
            printf "| stored bytes for an op on a lane, TinyLlama shape, %s thread%s, %d tokens | <= 3 | %.2f | %s |\n", p[2], (p[2] == 1 ? "" : "s"), tokens, bytes[g], bytes[g] <= 3 ? "yes" : "**no**" >targets
    }
    print "\nOthers, for the same op, that is both its boundaries, as they wrote it above:\n"
    print "| way | bytes/op |"
    print "|---|--:|"
    for (i = 1; i <= n_rivals; i++) {
        printf "| %s | %s |\n", names[i], grouped(rival[names[i]], 1)
        printf "\"%s\" %.3f 0\n", names[i], rival[names[i]] >data
    }
    if (n_parts) {
        print "\nWhere the bytes are, stored bytes for an op on a lane:\n"
        printf "| part of the file |"
        for (i = 1; i <= n; i++) { split(groups[i], p, SUBSEP); printf " %s, %s |", name_of(p[1]), p[2] }
        printf "\n|---|"
        for (i = 1; i <= n; i++) printf "--:|"
        print ""
        for (k = 1; k <= n_parts; k++) if (is_large(parts[k])) put_part(parts[k])
        put_part("everything else")
    }
    print "\nThe least that is known to be possible, bits for an op on a lane:\n"
    print "| model | threads | clock's step, ticks | which op | within a step | gap before it | busy | release |"
    print "|---|--:|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n; i++) {
        g = groups[i]; split(g, p, SUBSEP)
        printf "| %s | %s %s\n", name_of(p[1]), p[2], bits[g]
    }
}
