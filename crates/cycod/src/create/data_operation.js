const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

export function execute({ numbers, operation }) {
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
