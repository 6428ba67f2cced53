# awk -f compare.awk -v want=FILE -v got=FILE: exit 0 when the lines of GOT match
# those of WANT (see run-case for <N>, <*> and "...").

# The regular expression of one wanted line.
function pattern(text,    out, c, i) {
    out = "^"
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (substr(text, i, 3) == "<N>") {
            out = out "-?[0-9][0-9,]*([.][0-9]+)?(e[-+]?[0-9]+)?"
            i += 2
        } else if (substr(text, i, 3) == "<*>") {
            out = out ".*"
            i += 2
        } else if (index("\\^$.[]|()*+?{}", c) > 0) {
            out = out "\\" c
        } else {
            out = out c
        }
    }
    return out "$"
}

function read_lines(file, lines,    n, line) {
    n = 0
    while ((getline line < file) > 0) lines[++n] = line
    close(file)
    return n
}

# The usual walk for wildcards: on a mismatch the latest "..." takes one more line.
function matches(wanted, wants, lines, gots,    w, g, star, mark) {
    w = g = 1
    star = 0
    while (g <= gots) {
        if (w <= wants && wanted[w] == "...") {
            star = w++
            mark = g
        } else if (w <= wants && (wanted[w] == lines[g] || lines[g] ~ pattern(wanted[w]))) {
            w++
            g++
        } else if (star) {
            w = star + 1
            g = ++mark
        } else {
            return 0
        }
    }
    while (w <= wants && wanted[w] == "...") w++
    return w > wants
}

BEGIN {
    wants = read_lines(want, wanted)
    gots = read_lines(got, lines)
    exit !matches(wanted, wants, lines, gots)
}
