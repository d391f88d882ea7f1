/** The program that computes upstream's results: a request and a response per line. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseJson, stringifyJson } from '../../src/api/codec/json.ts';

export interface Oracle<Answer> {
  ask(question: object): Promise<Answer>;
  end(): void;
}

/** Starts the program. `command`: program and arguments. */
export function startOracle<Answer>(command: readonly string[]): Oracle<Answer> {
  const [program = '', ...args] = command;
  const oracle = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: oracle.stdout, crlfDelay: Infinity })[Symbol.asyncIterator]();
  return {
    async ask(question) {
      oracle.stdin.write(`${stringifyJson(question)}\n`);
      const { value, done } = (await lines.next()) as { value: string; done?: boolean };
      if (done === true) throw new Error('the oracle ended');
      return parseJson(value).value as Answer;
    },
    end: () => oracle.stdin.end(),
  };
}
