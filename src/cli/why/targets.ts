/** The objects of a question, as written on the command line. */
import { UserError } from '../usage-error.ts';

/** One object, or all of a kind when there is no name. */
export interface Target {
  readonly kind: string;
  readonly name?: string;
}

/** Reads `KIND/NAME...`, `KIND NAME...` or, where all are asked for, `KIND`. Throws `UserError` with exit code 2. */
export function parseTargets(words: readonly string[], all: boolean): readonly Target[] {
  if (all) {
    if (words.length !== 1 || words[0]!.includes('/'))
      throw new UserError('why: with -A or -l name a kind alone, such as pods', 2);
    return [{ kind: words[0]! }];
  }
  const [first = '', ...rest] = words;
  if (!first.includes('/')) {
    if (rest.length === 0) throw new UserError(`why: ${first} is not of the form KIND/NAME`, 2);
    return rest.map((name) => checkTarget({ kind: first, name }));
  }
  return words.map((word) => {
    const [kind = '', name = '', more] = word.split('/');
    if (more !== undefined) throw new UserError(`why: ${word} is not of the form KIND/NAME`, 2);
    return checkTarget({ kind, name });
  });
}

function checkTarget(target: Required<Target>): Target {
  const { kind, name } = target;
  if (kind === '' || name === '' || name.includes('/'))
    throw new UserError(`why: ${kind}/${name} is not of the form KIND/NAME`, 2);
  return target;
}
