import type { Command } from 'commander';
import { usage } from '../exit.ts';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

/** Each script asks `wfx __complete` with the words so far; it knows every command and option, so no script grows old. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_wfx() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [ -n "$line" ] && COMPREPLY+=("$line")
  done < <(wfx __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ \${#COMPREPLY[@]} -eq 0 ]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _wfx wfx`,
  zsh: `#compdef wfx
_wfx() {
  local -a found
  found=("\${(@f)$(wfx __complete --described -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then
    _describe 'wfx' found
  else
    _files
  fi
}
compdef _wfx wfx`,
  fish: `function __wfx_complete
  set -l words (commandline -opc) (commandline -ct)
  wfx __complete --tabbed -- $words[2..-1] 2>/dev/null
end
complete -c wfx -a '(__wfx_complete)'`,
};

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Print a script that completes commands and options in your shell.')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText(
      'after',
      examples(
        ['wfx completion bash >> ~/.bashrc', 'then open a new shell'],
        ['wfx completion zsh > "${fpath[1]}/_wfx"', 'then open a new shell'],
        ['wfx completion fish > ~/.config/fish/completions/wfx.fish', 'at once'],
      ),
    )
    .action((shell: string) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined) throw usage(`There is no completion for “${shell}”.`, 'it is bash, zsh or fish');
      wfx.io.print(script);
    });
}
