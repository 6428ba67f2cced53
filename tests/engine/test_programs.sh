# Programs that are not llama.cpp's own: several contexts at once, forks, ggml alone, a shell
# around them. What they print and return is what they do untraced.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
need_python
model tiny
for engine in $(engines); do
    dir=$TT_ENGINES/$engine
    "$TT_PROGRAMS/contexts" "$dir" tiny.gguf 2 >plain.txt 2>/dev/null
    expect "$engine contexts: untraced exit code" 0 $?
    "$TT_BIN" run --force -q -o p.ttrace -- "$TT_PROGRAMS/contexts" "$dir" tiny.gguf 2 >traced.txt 2>err.txt
    expect "$engine contexts: exit code" 0 $?
    same "$engine contexts: text" plain.txt traced.txt
    verified p.ttrace

    # Graphs that begin and end elsewhere in the process take no output away from one under way.
    if is_last "$engine"; then
        "$TT_BIN" run --force -q --values=stats -o v.ttrace -- "$TT_PROGRAMS/contexts" "$dir" tiny.gguf 3 >/dev/null 2>err.txt
        expect "$engine contexts with values: exit code" 0 $?
        verified v.ttrace
        about="$engine contexts with values"
        check check_values whole v.ttrace
    fi

    contexts=$(fork_contexts "$engine")
    rm -f f*.ttrace
    "$TT_PROGRAMS/contexts" "$dir" tiny.gguf "$contexts" fork >plain.txt 2>/dev/null
    expect "$engine fork: untraced exit code" 0 $?
    "$TT_BIN" run -q -o f.ttrace -- "$TT_PROGRAMS/contexts" "$dir" tiny.gguf "$contexts" fork >traced.txt 2>err.txt
    expect "$engine fork: exit code" 0 $?
    same "$engine fork: text" plain.txt traced.txt
    expect "$engine fork: traces" 2 "$(ls f*.ttrace | wc -l)"
    for t in f*.ttrace; do verified "$t"; done

    "$TT_PROGRAMS/raw" "$dir" >plain.txt
    expect "$engine raw: untraced exit code" 0 $?
    "$TT_BIN" run --force -q -o r.ttrace -- "$TT_PROGRAMS/raw" "$dir" >traced.txt 2>err.txt
    expect "$engine raw: exit code" 0 $?
    same "$engine raw: text" plain.txt traced.txt
    verified r.ttrace
    expect "$engine raw: runs" 3 "$(field r.ttrace runs)"
    # There is no scheduler to decide it; of the oldest engine only begin and end are seen.
    [ "$engine" = b4234 ] || expect "$engine raw: mode" hook "$(field r.ttrace mode)"

    rm -f s*.ttrace
    "$TT_BIN" run -q -o s.ttrace -- sh -c '"$0" "$1"; "$0" "$1"; exit 7' "$TT_PROGRAMS/raw" "$dir" >traced.txt 2>err.txt
    expect "$engine shell: exit code" 7 $?
    expect "$engine shell: traces" 2 "$(ls s*.ttrace | wc -l)"
    for t in s*.ttrace; do verified "$t"; done
done
finish
