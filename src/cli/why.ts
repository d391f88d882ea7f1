/** `keelson why KIND/NAME`: why an object is as it is, with the causes and what would cure them. */
import { Command, Option } from 'commander';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';
import { answerText } from './why/answer.ts';
import type { WhyAnswers, WhyQuestion } from './why/why-query.ts';
import { canCommand } from './why/can.ts';

interface RawWhyOptions extends Omit<WhyQuestion, 'targets'> {
  readonly output: string;
  readonly watch?: true;
}

const WATCH_PERIOD_MS = 2000;
const PASSING: ReadonlySet<string> = new Set(['facts', 'since', 'nextTry', 'lookedAt']);

export function whyCommand(): Command {
  return new Command('why')
    .description('explain why an object is as it is: causes, down to the first one, and what would cure them')
    .argument(
      '<target...>',
      'KIND/NAME, or KIND NAME, or KIND with -A or -l; requests (your refused ones) or request/ID',
    )
    .option('-n, --namespace <namespace>', 'namespace of the object (default: the one of the kubeconfig)')
    .option('-A, --all-namespaces', 'all objects of the kind that are in trouble, in all namespaces')
    .option('-l, --selector <labels>', 'all objects of the kind with these labels that are in trouble')
    .option('-w, --watch', 'answer again when the answer changes')
    .option('--nodes <count>', "how many nodes of a pod's scheduling decision to show as well", '0')
    .option('--kubeconfig <file>', 'how to reach the API (default: KUBECONFIG, or that of the cluster on --data-dir)')
    .addOption(dataDirOption())
    .addCommand(canCommand())
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (targets: string[], raw: RawWhyOptions) => {
      const { requestsAskedFor, requestsText } = await import('./why/requests.ts');
      const requests = requestsAskedFor(targets);
      if (requests !== undefined) {
        if (raw.watch === true || raw.selector !== undefined)
          throw new UserError('why: --watch and --selector are of objects, not of refused requests', 2);
        process.stdout.write(await requestsText({ ...raw, ...requests }));
        return;
      }
      const { openWhyQuery } = await import('./why/why-query.ts');
      if (!/^\d+$/.test(raw.nodes)) throw new UserError(`--nodes: ${raw.nodes} is not a whole number`, 2);
      const { explain, close } = await openWhyQuery({ ...raw, targets });
      try {
        let last = '';
        do {
          const answers = await explain();
          const verdict = verdictOf(answers);
          if (verdict !== last) process.stdout.write(await textOf(answers, raw.output));
          last = verdict;
        } while (raw.watch === true && (await pause()));
      } finally {
        close();
      }
    });
}

/** The content of an answer, without times, counts and words that change while it stays the same. */
function verdictOf({ answers, notLookedAt }: WhyAnswers): string {
  return JSON.stringify([answers.map(({ explanation }) => explanation), notLookedAt], (name, value: unknown) =>
    PASSING.has(name) ? undefined : value,
  );
}

async function textOf({ answers, notLookedAt, isList }: WhyAnswers, output: string): Promise<string> {
  if (answers.length === 0 && notLookedAt === 0 && output !== 'json') return 'nothing is in trouble\n';
  const text = await answerText(
    answers.map(({ explanation }) => explanation),
    { output, isList, more: answers.map(({ decision }) => decision) },
  );
  if (notLookedAt === 0) return text;
  const rest = `${notLookedAt} more were not looked at: name fewer\n`;
  if (output !== 'json') return answers.length === 0 ? rest : `${text}\n${rest}`;
  process.stderr.write(rest);
  return text;
}

async function pause(): Promise<true> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(WATCH_PERIOD_MS);
  return true;
}
