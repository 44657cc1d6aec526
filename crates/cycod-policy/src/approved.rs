use cycod_diagnostic::Refusal;

use crate::{Answer, Approver, Decision, Request, Verdict};

/// Something that may be done. Only a decision can make it.
#[derive(Debug)]
pub struct Approved<T> {
    subject: T,
    decision: Decision,
}

impl<T> Approved<T> {
    /// What may be done.
    pub fn subject(&self) -> &T {
        &self.subject
    }

    /// Why it may be done.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

impl Decision {
    /// Approves `subject`, asking `approver` when the verdict is to ask.
    ///
    /// # Errors
    /// A refusal when the verdict is to deny, when the answer is no and when nobody can be asked.
    pub fn approve<T>(
        self,
        subject: T,
        request: &Request<'_>,
        approver: &dyn Approver,
    ) -> Result<Approved<T>, Refusal> {
        let refused = |why: String| Refusal::new(self.code, why).rule(self.rule.clone()).place(request.tool);
        match self.verdict {
            Verdict::Allow => Ok(Approved { subject, decision: self }),
            Verdict::Deny => Err(refused(format!("`{}` may not run here", request.tool))),
            Verdict::Ask => match approver.answer(request) {
                Answer::Once => Ok(Approved { subject, decision: self }),
                Answer::No => Err(refused(format!("running `{}` was not approved", request.tool))),
                Answer::Unanswered => {
                    Err(refused(format!("`{}` must be approved, and nobody can be asked", request.tool))
                        .attempt(format!("run it by hand: cycod tool run {}", request.tool)))
                }
            },
        }
    }
}
