/** `keelson why KIND/NAME`: why an object is as it is, with the causes and what would cure them. */
import { Command, Option } from 'commander';
import type { Explanation } from '../why/explanation.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';
import type { WhyQuestion } from './why/ask.ts';

interface RawWhyOptions extends Omit<WhyQuestion, 'targets'> {
  readonly output: string;
  readonly watch?: true;
}

const watchPeriodMs = 2000;

export function whyCommand(): Command {
  return new Command('why')
    .description('explain why an object is as it is: causes, down to the first one, and what would cure them')
    .argument('<target...>', 'KIND/NAME, or KIND NAME, or KIND with -A or -l')
    .option('-n, --namespace <namespace>', 'namespace of the object (default: the one of the kubeconfig)')
    .option('-A, --all-namespaces', 'all objects of the kind that are in trouble, in all namespaces')
    .option('-l, --selector <labels>', 'all objects of the kind with these labels that are in trouble')
    .option('-w, --watch', 'answer again when the answer changes')
    .option('--nodes <count>', "how many nodes of a pod's scheduling decision to show as well", '0')
    .option('--kubeconfig <file>', 'how to reach the API (default: KUBECONFIG, or that of the cluster on --data-dir)')
    .addOption(dataDirOption())
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (targets: string[], raw: RawWhyOptions) => {
      const { ask } = await import('./why/ask.ts');
      if (!/^\d+$/.test(raw.nodes)) throw new UserError(`--nodes: ${raw.nodes} is not a whole number`, 2);
      const { explain, close } = await ask({ ...raw, targets });
      try {
        let last = '';
        do {
          const answer = await textOf(await explain(), raw.output);
          if (answer !== last) process.stdout.write(answer);
          last = answer;
        } while (raw.watch === true && (await pause()));
      } finally {
        close();
      }
    });
}

async function textOf(
  answers: readonly { readonly explanation: Explanation; readonly decision: string }[],
  output: string,
): Promise<string> {
  const { explanationText } = await import('../why/text.ts');
  const explanations = answers.map(({ explanation }) => explanation);
  if (output === 'json')
    return `${JSON.stringify(explanations.length === 1 ? explanations[0] : explanations, undefined, 2)}\n`;
  if (answers.length === 0) return 'nothing is in trouble\n';
  return answers.map(({ explanation, decision }) => `${explanationText(explanation)}${decision}`).join('\n');
}

async function pause(): Promise<true> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(watchPeriodMs);
  return true;
}
