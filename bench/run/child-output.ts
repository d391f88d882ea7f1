// Runs programs and returns their standard output.
import { spawn } from 'node:child_process';

/** Runs a program to its end. @throws when it fails */
export function output(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 2] }).on('error', reject);
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part));
    child.on('close', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${file} ${args[0] ?? ''} failed with ${code}`)),
    );
  });
}
