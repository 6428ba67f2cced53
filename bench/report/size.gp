# -e 'data="...";count=N;common="..."': lines of "way" bytes least.
height = 170 + 32 * count
load common
set title "What an op on a lane takes on disk" font ",15"
set xlabel "bytes, both boundaries"
set logscale x
set xrange [0.5:4000]
set yrange [count-0.4:-0.6]
set ytics scale 0
set arrow from 3, graph 0 to 3, graph 1 nohead lc rgb green lw 1.5 dt 2
set label "target: 3" at 3, graph 1 offset 0.4,0.6 tc rgb green
plot data using (0.5):0:(0.5):2:($0-0.3):($0+0.3):ytic(1) with boxxyerror lc rgb sky title "stored", \
     data using ($2):0:($2 < 100 ? sprintf("  %.1f", $2) : sprintf("  %.0f", $2)) with labels left tc rgb "#222222" notitle, \
     data using ($3 > 0 ? $3 : NaN):0 with points pt 9 ps 1.1 lc rgb orange title "least that is known to be possible"
