/** Answers as the command prints them. */
import type { Explanation } from '../../why/explanation.ts';

/** One answer, or a list of several, as text or JSON. `more` follows each answer's text. */
export async function answerText(
  explanations: readonly Explanation[],
  output: string,
  more: readonly string[] = [],
): Promise<string> {
  const { explanationText } = await import('../../why/text.ts');
  if (output === 'json')
    return `${JSON.stringify(explanations.length === 1 ? explanations[0] : explanations, undefined, 2)}\n`;
  return explanations.map((explanation, at) => `${explanationText(explanation)}${more[at] ?? ''}`).join('\n');
}
