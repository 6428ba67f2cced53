#!/bin/sh
# test_report_values.sh SOURCES: figures that were made up so that a table's cells can be told by heart
# become those cells, in each table of the benchmark's report.
set -eu
source=$1
command -v awk >/dev/null || { echo "skipped: awk is not there"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=$work/bench/results
mkdir -p "$results" "$work/build" "$work/bin"
cp -R "$source/bench/common.sh" "$source/bench/report" "$work/bench"
printf '#!/bin/sh\necho "<svg/>"\n' >"$work/bin/gnuplot"
chmod +x "$work/bin/gnuplot"

# cost ROUND SETTING NAME OPS LOST NS BYTES: a line of cost.csv.
cost() {
    halves=5,8
    case $3 in *record.h*) halves=, ;; esac
    echo "$1,$2,$3,1,$4,$5,$6,$6,$6,$6,12,20,$halves,20,30,70,2.5,4,$7"
}
{
    echo "round,setting,name,threads,ops,lost,op_mean_ns,op_median_ns,op_q1_ns,op_q3_ns,single_p50_ns,single_p999_ns,boundary_p50_ns,boundary_p999_ns,clock_p50_ns,clock_p999_ns,cpu_ns,ticks_per_ns,cycles_per_ns,bytes"
    for setting in one all shared; do
        for round in 1 2; do
            cost $round $setting '"time stamp"' 1000 0 10 ""
            cost $round $setting tensortrace 1000 0 30 ""
            cost $round $setting '"record.h, off"' 1000 0 1 ""
            cost $round $setting '"record.h"' 1000 $([ $setting = one ] && echo 100 || echo 0) $((20 + 20 * round)) ""
            cost $round $setting LTTng-UST 1000 0 200 32000
        done
    done
    cost 1 flat tensortrace 1000 0 30 ""
} >"$results/cost.csv"
{
    echo "model,threads,way,round,pair,first,untraced_idle_cpu_ns,untraced_prompt_wall_ns,untraced_prompt_cpu_ns,untraced_generate_wall_ns,untraced_generate_cpu_ns,other_idle_cpu_ns,other_prompt_wall_ns,other_prompt_cpu_ns,other_generate_wall_ns,other_generate_cpu_ns,dropped"
    for pair in 1 2; do
        echo "tinyllama,1,hook,1,$pair,a,0,2000000000,2000000000,1000000000,1000000000,50000000,1900000000,1900000000,1100000000,1100000000,0"
    done
} >"$results/slowdown.csv"
cat >"$results/size.csv" <<'END'
model,threads,tokens,size_bytes,op_records,dropped,limit_records,step_ticks,nodes_bits,rests_bits,gap_bits,busy_bits,release_bits,limit_bytes
tinyllama,1,5,2000,1000,7,1000,26,1,2,3,4,5,1.5
END
cat >"$results/columns.csv" <<'END'
model,threads,part,column,stored_bytes
tinyllama,1,ops,start,1500
tinyllama,1,container,index,5
END
cat >"$results/scale.json" <<'END'
{
  "records": 1000,
  "file_bytes": 2000000,
  "runs": 3,
  "open_s": 0.5,
  "stats_s": 2,
  "stats_peak_rss_bytes": 3000000,
  "log_page_s": 0.1,
  "log_page_tenth_s": 0.2,
  "log_page_time_s": 0.3,
  "filter_records_per_s": 5000000,
  "log_json_rows_per_s": 1000000,
  "log_table_rows_per_s": 2000000
}
END
cat >"$results/diff.json" <<'END'
{
  "records": 1000,
  "runs": 3,
  "one_core_s": 2,
  "all_cores_s": 1,
  "one_core_records_per_s": 3000000,
  "all_cores_records_per_s": 6000000,
  "peak_rss_bytes": 5000000,
  "tenth_peak_rss_bytes": 1000000,
  "per_record_records_per_s": 4000000,
  "stats_s": 7
}
END
cat >"$results/export.csv" <<'END'
format,who,threads,pair,rows,bytes,seconds
parquet,duckdb,1,0,1000000,3000000,2
parquet,tensortrace,1,0,1000000,2000000,0.5
END
cat >"$results/tables.csv" <<'END'
table,step,run,rows,seconds,bytes,cpu_seconds
lanes,fill,1,1000000,0.01,0,0.01
lanes,encode,1,1000000,0.03,13000000,0.03
END
cat >"$results/viewer.csv" <<'END'
trace,renderer,what,n,p50_ms,p95_ms,p99_ms,most_ms
view-10000000.ttrace,webgl2,first picture,1,500,500,500,500
view-10000000.ttrace,webgl2,page,1,250,250,250,250
view-10000000.ttrace,webgl2,pan (own work),9,1,2,3,4
view-10000000.ttrace,webgl2,zoom (own work),9,3,4,5,6
view-10000000.ttrace,webgl2,pan,9,16,17,18,19
view-10000000.ttrace,webgl2,zoom,9,15,16,17,18
END
cat >"$results/frames.csv" <<'END'
view,what,trace,frames,p50_ms,p95_ms,most_ms,longest_ms,own_p50_ms,own_p95_ms
overview,"hover, and more",view,151,4,5,9,6,2,17
END

for awk in mawk gawk; do
    command -v $awk >/dev/null || continue
    ln -sf "$(command -v $awk)" "$work/bin/awk"
    PATH=$work/bin:$PATH "$work/bench/report/write" 2>"$work/said" || { cat "$work/said"; exit 1; }
    failed=0
    while IFS= read -r line; do
        [ -z "$line" ] && continue
        grep -qxF -- "$line" "$work/bench/report.md" || { echo "with $awk the report lacks: $line"; failed=1; }
    done <<'END'
| cost of a recorded boundary above the bare time stamp (worst of three settings) | <= 5 ns | 10.0 ns | **no** |
| LTTng-UST's cost of an op against ours (with time stamps alone it would be 20.0) | >= 5 times | 6.7 times | yes |
| time stamp | 10.0 | 10.0..10.0 | 40 | 5.0 | 1.00 | 12 | 20 | 5 | 8 |
| tensortrace | 30.0 | 30.0..30.0 | 120 | 15.0 | 3.00 | 12 | 20 | 5 | 8 |
| record.h, off | 1.0 | 1.0..1.0 | 4 | 0.5 | 0.10 | 12 | 20 | - | - |
| record.h | 50.0 | 40.0..60.0 | 200 | 25.0 | 5.00 | 12 | 20 | - | - |
record.h lost 10.0 % of its ops (one).
The core made 4.00 cycles a ns (a chain of dependent additions), the time-stamp counter 2.500 ticks.
| TinyLlama shape | 1 | traced, hook mode | 1,000 | +10.00 [+10.00, +10.00] | +10.00..+10.00 (+10.00..+10.00) | +15.00 [+15.00, +15.00] |
| TinyLlama shape | 1 | traced, hook mode | 2,000 | -5.00 [-5.00, -5.00] | -5.00..-5.00 (-5.00..-5.00) | -5.00 [-5.00, -5.00] |
| TinyLlama shape | 1 | 1,000 | 2.00 | 1.50 | 7 |
| LTTng-UST | 32.0 |
| 256-byte records | 256.0 |
| ops: start | 1.500 |
| everything else | 0.005 |
| TinyLlama shape | 1 | 26 | 1.00 | 2.00 | 3.00 | 4.00 | 5.00 |
| open | 500.0 ms |
| open and `stats` | 2.00 s, 3 MB resident |
| 100 rows of the `log`, by token, the slowest of three places | 100.0 ms |
| the slowest of the filters | 5 M records/s |
| `log --json` | 1.00 M rows/s |
| on one core | 2.00 s, 3 M records/s |
| on all cores (a thread a trace) | 1.00 s, 6 M records/s |
| on one core, without what a tenth of the records takes | 4 M records/s |
| resident memory; of a tenth of the records | 5 MB; 1 MB |
| parquet | 1 | 1,000,000 | 2.0 | 0.5 | 4.0 | 2 | 3 |
| lanes | 10 ns | 20 ns | 50 | 33 | 13.0 |
| 10,000,000 | webgl2 | 0.50 s | 0.25 s | 1.0, 2.0 ms | 3.0, 4.0 ms | 16.0, 17.0 ms | 15.0, 16.0 ms |
| overview | hover, and more | 151 | 4 ms | 5 ms | 9 ms | 2 ms | 17 ms | **no**, yes |
END
    [ $failed = 0 ] || exit 1
    # A name with a comma in it is a way of its own, in each of the tables.
    [ "$(grep -c '^| record.h' "$work/bench/report.md")" = 4 ] || { echo "with $awk rows are mixed or doubled"; exit 1; }
    echo "$awk makes these tables"
done
