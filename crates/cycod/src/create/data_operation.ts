interface Arguments {
  numbers: number[];
  operation: 'summary' | 'sorted' | 'totals';
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

export function execute({ numbers, operation }: Arguments): string {
  switch (operation) {
    case 'sorted':
      return [...numbers].sort((one, other) => one - other).join(' ');
    case 'totals':
      return numbers.map((_, at) => sum(numbers.slice(0, at + 1))).join(' ');
    default:
      return [
        `count: ${numbers.length}`,
        `mean: ${sum(numbers) / numbers.length}`,
        `min: ${Math.min(...numbers)}`,
        `max: ${Math.max(...numbers)}`,
      ].join('\n');
  }
}
