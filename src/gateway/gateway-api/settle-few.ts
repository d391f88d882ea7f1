/** Runs many small tasks, a few at a time. */

/** The number of concurrent tasks; each may write an object of many kilobytes. */
const AT_A_TIME = 16;

/** Runs all tasks, a few at a time, with a pause before each. Resolves to the first error, or undefined. */
export async function settleFewAtATime(
  all: readonly (() => Promise<void>)[],
  pause: () => Promise<void> | undefined,
): Promise<{ readonly error: unknown } | undefined> {
  const rest = all.values();
  let failed: { readonly error: unknown } | undefined;
  const lane = async (): Promise<void> => {
    for (const begin of rest) {
      await pause();
      try {
        await begin();
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, all.length) }, lane));
  return failed;
}
