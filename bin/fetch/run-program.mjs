// Runs programs. A program's output is held back and shown only when the program fails. Plain JavaScript for Node >= 20.
import { spawn } from 'node:child_process';

/** A failure whose message is all the user needs: printed without a stack, exit code 1. */
export class SetupError extends Error {}

/**
 * Runs a program to its end and returns its standard output.
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, allowExitCodes?: number[] }} [options]
 * @throws SetupError with the program's whole output when it cannot start or exits with another code than 0 or an allowed one
 */
export function runProgram(program, args, { cwd, env, allowExitCodes = [] } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('error', (error) => reject(new SetupError(`cannot run ${program}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0 || allowExitCodes.includes(code)) return resolve(stdout);
      const how = signal ? `was killed by ${signal}` : `failed with exit code ${code}`;
      reject(new SetupError(`${output.trimEnd()}\n${[program, ...args].join(' ')} ${how}`));
    });
  });
}
