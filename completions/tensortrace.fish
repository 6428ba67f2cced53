# Completion for fish. The command says what the last word may be (tensortrace complete).
function __tensortrace_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    # The value of --NAME=VALUE is completed by itself.
    set -l option (string match -r -- '^--[^=]+=' $token)
    set -l value (string replace -r -- '^--[^=]+=' '' $token)
    for line in ($words[1] complete $words[2..-1] "$token" 2>/dev/null)
        switch $line
            case ':programs'
                complete -C "$value"
            case ':*'
                set -l all (complete -C "'' $value" | string replace -r '\t.*' '')
                set -l found
                for suffix in (string split -n ' ' -- (string replace -r '^:\w+' '' -- $line))
                    set -a found (string match -- "*$suffix" $all)
                end
                if string match -q -- ':files*' $line; and test (count $found) -eq 0
                    set found $all
                else
                    set -a found (string match -- '*/' $all)
                end
                printf "$option%s\n" $found
            case '*'
                printf '%s%s\n' "$option" $line
        end
    end
end
complete -c tensortrace -f -a '(__tensortrace_complete)'
