# Completion for bash. The command says what the last word may be (tensortrace complete).
_tensortrace() {
    local word=${COMP_WORDS[COMP_CWORD]} line suffix folders=no
    COMPREPLY=()
    # A sign between an option and its value is a word of its own.
    [ "$word" = = ] && word=
    while IFS= read -r line; do
        case $line in
        :programs) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
        :folders) folders=yes ;;
        :files*)
            for suffix in ${line#:files}; do
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X "!*$suffix" -- "$word")
            done
            # No such file here: any.
            if [ ${#COMPREPLY[@]} -gt 0 ]; then folders=yes; else compopt -o default 2>/dev/null; fi
            ;;
        "$word"*) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]/#\~\//$HOME/}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [ $folders = yes ]; then
        compopt -o filenames 2>/dev/null
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$word")
    fi
}
complete -F _tensortrace tensortrace
