/** The scripts for each shell, from the table. Pure. */
import type { CompletedCommand, CompletedOption } from './table.ts';

const CLUSTERS = 'keelson ls -o name 2>/dev/null';
const NODES = 'keelson node ls -o name 2>/dev/null';

/** Text between single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The first sentence, on one line. */
function brief(text: string): string {
  return text.replaceAll(/\s+/g, ' ').split(/[.:;] /)[0] ?? '';
}

function pathKey(path: readonly string[]): string {
  return path.map((word) => ` ${word}`).join('');
}

function wordsOf({ commands, options, words }: CompletedCommand): string[] {
  const found = words === 'nodes' ? [`$(${NODES})`] : words;
  return [...commands.map(({ name }) => name), ...found, ...options.flatMap(({ names }) => names)];
}

function optionCases(
  table: readonly CompletedCommand[],
  caseOf: (values: CompletedOption['values']) => string,
): string {
  return table
    .flatMap(({ path, options }) =>
      options.flatMap(({ names, values }) =>
        values === undefined
          ? []
          : [`    ${names.map((name) => `"${pathKey(path)} ${name}"`).join('|')}) ${caseOf(values)} ;;`],
      ),
    )
    .join('\n');
}

function pathCases(table: readonly CompletedCommand[]): string {
  const paths = table.filter(({ path }) => path.length > 0).map(({ path }) => `"${pathKey(path)}"`);
  return paths.join('|');
}

export function bashScript(table: readonly CompletedCommand[]): string {
  const valueCase = (values: CompletedOption['values']): string => {
    if (values === 'files') return 'COMPREPLY=($(compgen -f -- "$cur")); return';
    if (values === 'clusters') return `COMPREPLY=($(compgen -W "$(${CLUSTERS})" -- "$cur")); return`;
    if (values === 'nodes') return `COMPREPLY=($(compgen -W "$(${NODES})" -- "$cur")); return`;
    if (values === 'none') return 'return';
    return `COMPREPLY=($(compgen -W "${(values ?? []).join(' ')}" -- "$cur")); return`;
  };
  return `# bash completion of keelson: source <(keelson completion bash)
_keelson() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i
  COMPREPLY=()
  # Readline takes = for a word of its own.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
    ${pathCases(table)}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $prev" in
${optionCases(table, valueCase)}
  esac
  case "$path" in
${table.map((command) => `    "${pathKey(command.path)}") words="${wordsOf(command).join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _keelson keelson
`;
}

function zshWords({ words }: CompletedCommand): string {
  return words === 'nodes' ? `\${(f)"$(${NODES})"}` : words.map(quoted).join(' ');
}

export function zshScript(table: readonly CompletedCommand[]): string {
  const valueCase = (values: CompletedOption['values']): string => {
    if (values === 'files') return '_files; return';
    if (values === 'clusters') return `compadd -- \${(f)"$(${CLUSTERS})"}; return`;
    if (values === 'nodes') return `compadd -- \${(f)"$(${NODES})"}; return`;
    if (values === 'none') return 'return';
    return `compadd -- ${(values ?? []).map(quoted).join(' ')}; return`;
  };
  const described = ({ commands, options }: CompletedCommand): string =>
    [
      ...commands.map(({ name, description }) => [name, description] as const),
      ...options.flatMap(({ names, description }) => names.map((name) => [name, description] as const)),
    ]
      .map(([name, description]) => quoted(`${name.replaceAll(':', '\\:')}:${brief(description)}`))
      .join(' ');
  return `#compdef keelson
# zsh completion of keelson: source <(keelson completion zsh), or a file _keelson in $fpath
_keelson() {
  local path_="" i
  local -a entries
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_ \${words[i]}" in
    ${pathCases(table)}) path_="$path_ \${words[i]}" ;;
    esac
  done
  case "$path_ \${words[CURRENT-1]}" in
${optionCases(table, valueCase)}
  esac
  case "$path_" in
${table.map((command) => `    "${pathKey(command.path)}") entries=(${described(command)} ${zshWords(command)}) ;;`).join('\n')}
  esac
  _describe keelson entries
}
if [[ $funcstack[1] == _keelson ]]; then _keelson "$@"; else compdef _keelson keelson; fi
`;
}

export function fishScript(table: readonly CompletedCommand[]): string {
  const lines = table.flatMap((command) => {
    const { path, commands, options, words } = command;
    const condition = conditionOf(command);
    return [
      ...commands.map(
        ({ name, description }) => `complete -c keelson -f -n ${condition} -a ${name} -d ${quoted(brief(description))}`,
      ),
      ...(words === 'nodes' ? [quoted(`(${NODES})`)] : words).map(
        (word) => `complete -c keelson -f -n ${condition} -a ${word}`,
      ),
      ...(path.length === 0 ? [] : options.map((option) => fishOption(condition, option))),
    ];
  });
  const paths = table.filter(({ path }) => path.length > 0).map(({ path }) => quoted(pathKey(path)));
  return `# fish completion of keelson: keelson completion fish | source
set -g __keelson_paths ${paths.join(' ')}
# Whether the line has this command. Words that are values of options are no commands of another path.
function __keelson_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    contains -- "$path $word" $__keelson_paths; and set path "$path $word"
  end
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function conditionOf({ path }: CompletedCommand): string {
  return `"__keelson_at '${pathKey(path)}'"`;
}

function fishOption(condition: string, { names, description, values }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ');
  const value = fishValue(values);
  return `complete -c keelson -n ${condition} ${flags}${value} -d ${quoted(brief(description))}`;
}

function fishValue(values: CompletedOption['values']): string {
  if (values === undefined) return '';
  if (values === 'files') return ' -r -F';
  if (values === 'none') return ' -x';
  if (values === 'nodes') return ` -x -a ${quoted(`(${NODES})`)}`;
  return ` -x -a ${values === 'clusters' ? quoted(`(${CLUSTERS})`) : quoted(values.join(' '))}`;
}
