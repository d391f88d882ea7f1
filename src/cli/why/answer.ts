/** Answers as the command prints them. */
import type { Explanation } from '../../why/explanation.ts';

/** How answers are printed. */
interface Printing {
  readonly output: string;
  /** Whether JSON is an array whatever the number of answers: scripts that list do not know the length. */
  readonly isList: boolean;
  /** Follows each answer's text. */
  readonly more?: readonly string[];
}

/** One answer, or a list, as text or JSON. */
export async function answerText(
  explanations: readonly Explanation[],
  { output, isList, more = [] }: Printing,
): Promise<string> {
  const { explanationText } = await import('../../why/text.ts');
  if (output === 'json') return `${JSON.stringify(isList ? explanations : explanations[0], undefined, 2)}\n`;
  return explanations.map((explanation, at) => `${explanationText(explanation)}${more[at] ?? ''}`).join('\n');
}
