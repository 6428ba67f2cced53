# What the plots share. Colours of Okabe and Ito, which people who see few colours tell apart.
set terminal svg size 860,height font "DejaVu Sans,Helvetica,Arial,sans-serif,13" background rgb "white" noenhanced
set encoding utf8
blue = "#0072b2"; orange = "#d55e00"; sky = "#56b4e9"; green = "#009e73"; yellow = "#e69f00"; grey = "#666666"
set border 3 lc rgb grey
set tics nomirror out
set grid x lc rgb "#dddddd" lw 0.7
set style fill solid 1.0 noborder
set key at graph 0.42, screen 0.02 center bottom horizontal Left reverse samplen 1 maxrows 1
set bmargin 5.5
