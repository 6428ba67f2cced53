# -e 'data="...";title="...";count=N;goal=PERCENT;most=PERCENT;common="..."': lines of
# label, least, quartile, median, quartile, most, low, high (the interval of the median); in percent.
height = 185 + 30 * count
load common
set datafile separator ","
set title title font ",15"
set xlabel "slow-down of generation, wall time, %"
set xrange [-least:most]
set yrange [count-0.3:-0.7]
set ytics scale 0
set arrow from goal, graph 0 to goal, graph 1 nohead lc rgb green lw 1.5 dt 2
set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb grey lw 1
set label sprintf("target: %g %%", goal) at goal, graph 1 offset 0.5,0.6 tc rgb green
inside(x) = x > most ? most : x < -least ? -least : x
plot data using (inside($2)):0:(inside($2)):(inside($6)):ytic(1) with xerrorbars pt 0 lc rgb grey lw 1 title "least and most", \
     data using (inside($4)):0:(inside($3)):(inside($5)):($0-0.25):($0+0.25) with boxxyerror lc rgb sky title "quartiles", \
     data using (inside($4)):0:(inside($7)):(inside($8)) with xerrorbars pt 7 ps 0.7 lc rgb blue lw 2.5 title "median, 95 % interval", \
     data using (most):($4 > most ? $0 : NaN):(sprintf("%+.0f %% →", $4)) with labels right offset -0.5,0.7 tc rgb orange notitle
