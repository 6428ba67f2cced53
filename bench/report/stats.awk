# Statistics for the other awk programs here. CSV with a header: columns are called by name.

# The cells of a line of CSV, in which a comma may be quoted; how many.
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

# at("name"): the cell of that column in this line.
function header(    i, n, titles) {
    n = cells($0, titles)
    for (i = 1; i <= n; i++) column_of[titles[i]] = i
}

function at(name) {
    if (line_of_cells != NR) cells($0, cells_of_line)
    line_of_cells = NR
    return cells_of_line[column_of[name]]
}

function sort(a, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = a[i]
        for (j = i - 1; j >= 1 && a[j] > t; j--) a[j + 1] = a[j]
        a[j + 1] = t
    }
}

# Of a sorted array: between the two nearest values.
function quantile(a, n, part,    x, i) {
    if (n == 0) return 0
    x = 1 + part * (n - 1)
    i = int(x)
    return i >= n ? a[n] : a[i] + (x - i) * (a[i + 1] - a[i])
}

# value[group, 1..n] as a sorted array.
function take(value, group, n, out,    i) {
    for (i = 1; i <= n; i++) out[i] = value[group, i] + 0
    sort(out, n)
}

function median_of(value, group, n,    a) {
    take(value, group, n, a)
    return quantile(a, n, 0.5)
}

function push(value, count, group, v) {
    count[group]++
    value[group, count[group]] = v
}

# Below 1, the same numbers with every awk (rand() differs): the generator of Park and Miller.
function uniform() {
    seed = ((seed ? seed : 1) * 16807) % 2147483647
    return seed / 2147483647
}

# A 95 % interval of the median, by drawing anew: rounds first, as the pairs of a round share their
# processes, then pairs within each. round[group, i] says of which round value i is. Sets low, high.
function bootstrap(value, round, group, n,    i, k, r, n_rounds, first, size, draws, m, a, medians) {
    n_rounds = 0
    for (i = 1; i <= n; i++) {
        if (i == 1 || round[group, i] != round[group, i - 1]) {
            n_rounds++
            first[n_rounds] = i
            size[n_rounds] = 0
        }
        size[n_rounds]++
    }
    draws = 1000
    for (k = 1; k <= draws; k++) {
        m = 0
        for (i = 1; i <= n_rounds; i++) {
            r = 1 + int(uniform() * n_rounds)
            for (j = 1; j <= size[r]; j++) a[++m] = value[group, first[r] + int(uniform() * size[r])]
        }
        sort(a, m)
        medians[k] = quantile(a, m, 0.5)
    }
    sort_fast(medians, draws)
    low = quantile(medians, draws, 0.025)
    high = quantile(medians, draws, 0.975)
}

# Shell sort: for more than a few.
function sort_fast(a, n,    gap, i, j, t) {
    for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
        for (i = gap + 1; i <= n; i++) {
            t = a[i]
            for (j = i - gap; j >= 1 && a[j] > t; j -= gap) a[j + gap] = a[j]
            a[j + gap] = t
        }
}

# "1,234.5"
function grouped(v, digits,    s, whole, rest) {
    s = sprintf("%." digits "f", v)
    rest = index(s, ".") ? substr(s, index(s, ".")) : ""
    whole = rest ? substr(s, 1, index(s, ".") - 1) : s
    while (match(whole, /[0-9][0-9][0-9][0-9]($|,)/))
        whole = substr(whole, 1, RSTART) "," substr(whole, RSTART + 1)
    return whole rest
}
