#!/bin/sh
# test_completion.sh SOURCES TENSORTRACE: in bash, zsh and fish the Tab key offers the commands and options
# that --help lists, the words that an option takes, columns, and files of the right kind.
set -eu
source=$1 tensortrace=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$(dirname "$tensortrace")
export PATH="$bin:$PATH" LC_ALL=C.UTF-8 HOME="$work/home" TERM=dumb
mkdir -p "$work/home" "$work/here/folder" "$work/want"
cd "$work/here"
touch a.ttrace b.ttrace.part m.gguf settings.json other.txt

# want LINE: what is offered for this command line, as standard input has it.
want() {
    printf '%s\n' "$1" >>"$work/lines"
    name=$(printf '%03d' "$(wc -l <"$work/lines")")
    sort -u >"$work/want/$name"
    [ -s "$work/want/$name" ] || { echo "nothing to compare with: $1"; exit 1; }
}
lines() { printf '%s\n' "$@"; }

# The oracles: --help, messages about wrong usage, and --columns help.
tensortrace --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p' >"$work/verbs"
want 'tensortrace ' <"$work/verbs"
lines stats | want 'tensortrace st'
while read -r verb; do
    [ "$verb" != help ] || continue
    COLUMNS=200 ARGP_HELP_FMT=rmargin=200 tensortrace "$verb" --help |
        grep -oE '^ +(-[[:alnum:]?], +)?--[a-z][-a-z0-9]*' | grep -oE -- '--[a-z].*' | want "tensortrace $verb --"
done <"$work/verbs"
[ "$(wc -l <"$work/lines")" -gt 20 ] || { echo "--help has few commands"; exit 1; }
said() { tensortrace "$@" 2>&1 | tr '\n' ' ' | sed 's/.*is not //; s/ See .*//; s/,//g; s/ or / /' | tr ' ' '\n'; }
said stats --by x x | want 'tensortrace stats --by '
said stats --by x x | grep '^t' | want 'tensortrace stats --by=t'
said boost --io x | want 'tensortrace boost --io '
said run --faults=x | want 'tensortrace run --faults='
said log --phase x x | want 'tensortrace log -p '
lines auto hook callback | want 'tensortrace run --mode '
lines zstd gzip | want 'tensortrace export --compress '
tensortrace export --format x x 2>&1 | sed -n 's/.*there are: //p' | tr -d , | tr ' ' '\n' | want 'tensortrace export --format '
keys() { tensortrace "$@" --columns help | awk 'NR > 1 && /^[a-z]/ { print $1 }'; }
keys heat | sed 's/^/name,/' | want 'tensortrace heat --columns name,'
keys routing | want 'tensortrace routing --sort '
keys routing --domains | want 'tensortrace routing --domains --sort '
lines a.ttrace b.ttrace.part folder | want 'tensortrace heat '
lines a.ttrace b.ttrace.part folder | want 'tensortrace diff a.ttrace '
lines m.gguf folder | want 'tensortrace gguf '
lines m.gguf folder | want 'tensortrace run -q -m '
lines list settings.json folder | want 'tensortrace experiment '
lines folder | want 'tensortrace run --engine '
lines tensortrace | want 'tensortrace run -- tensortrac'
lines bash fish zsh | want 'tensortrace --completion '

# Each shell writes what it offers for line N to $work/got/N.
offer_bash() {
    bash --norc -c '
        source "$1"
        n=0
        while IFS= read -r line; do
            # As bash splits it: a sign between an option and its value is a word of its own.
            read -ra COMP_WORDS <<<"${line//=/ = }"
            case $line in *" ") COMP_WORDS+=("") ;; esac
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _tensortrace
            printf -v file "%03d" $((++n))
            printf "%s\n" "${COMPREPLY[@]}" >"$3/$file"
        done <"$2"' bash "$@"
}
# A real shell in a terminal, with a key that completes and writes down what it was about to show.
offer_zsh() {
    mkdir -p "$work/functions"
    cp "$1" "$work/functions/_tensortrace"
    cat >"$work/inside.zsh" <<'ZSH'
fpath=($TT_WORK/functions $fpath)
autoload -Uz compinit
compinit -u -d $TT_WORK/dump
compadd() {
    local -a offered
    if ((! ${argv[(I)-[OAD]]})); then
        builtin compadd -A offered "$@"
        print -rl -- $offered >>$TT_WORK/offered
    fi
    builtin compadd "$@"
}
probe() {
    _main_complete
    compstate[insert]= compstate[list]=
    print >>$TT_WORK/offered
    mv $TT_WORK/offered $TT_WORK/answer
}
zle -C probe complete-word probe
bindkey '^I' probe
print >$TT_WORK/answer
ZSH
    TT_WORK=$work zsh -f -c '
        zmodload zsh/zpty zsh/zselect
        answer() {
            for ((i = 0; i < 1000; i++)); do
                [[ -e $TT_WORK/answer ]] && return
                zselect -t 2
            done
            print "zsh does not answer: $1"
            exit 1
        }
        zpty z zsh -f -i
        zpty -w z "source $TT_WORK/inside.zsh"
        answer start
        n=0
        while IFS= read -r line; do
            rm -f $TT_WORK/answer
            zpty -w -n z "$line"$'"'\\t'"'
            answer $line
            ((++n))
            sed "/^\$/d" $TT_WORK/answer >$2/${(l:3::0:)n}
            zpty -w -n z $'"'\\C-u'"'
        done <$1
        zpty -d z' zsh "$2" "$3"
}
offer_fish() {
    fish --no-config -c '
        source $argv[1]
        set n 0
        while read -l line
            set n (math $n + 1)
            complete -C "$line" | sed "s/\t.*//; s/^--[^=]*=//" >$argv[3]/(printf %03d $n)
        end <$argv[2]' "$@"
}

tried="" bad=0
for shell in bash zsh fish; do
    command -v $shell >/dev/null || { echo "$shell is not there"; continue; }
    $shell -n "$source/completions/tensortrace.$shell"
    tensortrace --completion $shell | cmp - "$source/completions/tensortrace.$shell"
    rm -rf "$work/got"
    mkdir "$work/got"
    offer_$shell "$source/completions/tensortrace.$shell" "$work/lines" "$work/got"
    n=0
    while IFS= read -r line; do
        n=$((n + 1))
        name=$(printf '%03d' $n)
        if ! sed 's|/$||; s/ $//' "$work/got/$name" | sort -u | diff "$work/want/$name" - >"$work/diff"; then
            echo "$shell: \"$line\": wanted (<) and offered (>) differ:"
            cat "$work/diff"
            bad=1
        fi
    done <"$work/lines"
    tried="$tried $shell"
done
[ $bad = 0 ] || exit 1
case $tried in *bash*zsh*fish*) ;; *) echo "skipped: only$tried"; exit 77 ;; esac
echo "$(wc -l <"$work/lines") lines in each of$tried"
