# -e 'data="...";count=N;common="..."': lines of "way" median p50 p99.9, from the top down.
height = 170 + 34 * count
load common
set title "What it costs a thread to record one op (two boundaries)" font ",15"
set xlabel "ns for an op, one thread"
set logscale x
set xrange [1:20000]
set yrange [count-0.4:-0.6]
set ytics scale 0
plot data using (1):0:(1):($2 > 1 ? $2 : 1):($0-0.3):($0+0.3):ytic(1) with boxxyerror lc rgb sky title "median of batches", \
     data using (1):0:(sprintf("  %.1f", $2)) with labels left tc rgb "#222222" notitle, \
     data using ($3 >= 1 ? $3 : NaN):0 with points pt 7 ps 0.9 lc rgb blue title "p50 of single ops", \
     data using ($4 >= 1 ? $4 : NaN):0 with points pt 9 ps 1.1 lc rgb orange title "p99.9 of single ops"
