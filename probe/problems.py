"""The one way in which the probe says no."""


class Problem(Exception):
    """`code` is for programs, `message` names what is wrong, `remedy` says what a person can do about it."""

    def __init__(self, code, message, remedy):
        super().__init__(message)
        self.code, self.message, self.remedy = code, message, remedy

    def as_json(self):
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}


class OutOfTime(BaseException):
    """Raised by the alarm. Not an Exception, so that a task's own handlers let it through."""


def one_line(text, limit=400):
    text = " ".join(str(text).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
