from itertools import accumulate


def shown(number):
    return f"{number:g}"


def handler(numbers, operation="summary"):
    if operation == "sorted":
        return " ".join(shown(number) for number in sorted(numbers))
    if operation == "totals":
        return " ".join(shown(total) for total in accumulate(numbers))
    return "\n".join([
        f"count: {len(numbers)}",
        f"mean: {shown(sum(numbers) / len(numbers))}",
        f"min: {shown(min(numbers))}",
        f"max: {shown(max(numbers))}",
    ])
