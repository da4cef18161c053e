// How an article gets into all of its groups, or into none, whatever ends the session in between. Depends on spool.hpp.
//
// An article is posted in three steps: it is claimed in the catalogue, appended to each group, and settled in the
// catalogue. The client is told 240 after the last append, when all of it is durable. A session that dies leaves a
// claim. mend() then completes the article if a group has it already, and else forgets it.
#pragma once

#include "article.hpp"
#include "spool.hpp"

#include <functional>
#include <string>

namespace news {

struct post_result {
    bool posted;        ///< false: no group has the article, or mend() will remove it
    std::string reason; ///< for the client, if the article was not posted
    /// The session could not end its claim, so mend() must be called when the session has ended.
    bool leaves_claim = false;
};

/// Posts an article to those of its groups that exist. Durable once this returns `posted`. Reports all failures in the
/// result. May wait for another session that posts the same article, unless `is_in_haste` returns true.
post_result post(spool& to, const article& what, session_number by, const std::function<bool()>& is_in_haste);

/// Completes or undoes what ended sessions have left. Returns false if that is not possible now, for instance because
/// the disk is full; the reason is on standard error.
bool mend(spool& all, const std::function<bool(session_number)>& has_ended);

} // namespace news
