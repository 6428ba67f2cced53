#compdef tensortrace
# Completion for zsh. The command says what the last word may be (tensortrace complete).
_tensortrace() {
    local line
    local -a said found
    said=("${(@f)$("${words[1]/#\~\//$HOME/}" complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    # The value of --NAME=VALUE is completed by itself.
    [[ $PREFIX == --*=* ]] && compset -P '--[^=]#='
    for line in $said; do
        case $line in
        :programs) _command_names -e ;;
        :folders) _files -/ ;;
        :files) _files ;;
        :files*) _files -g "*${${line#:files }// / *}" ;;
        *) found+=("${line/$'\t'/:}") ;;
        esac
    done
    (($#found)) && _describe tensortrace found
}
# As a file of fpath this is the function itself; as text that is read in it only says what it is for.
if [[ $funcstack[1] == _tensortrace ]]; then
    _tensortrace "$@"
else
    compdef _tensortrace tensortrace
fi
