#include "proto/wire_session.h"

bool wire_session_begin(struct wire_session *session)
{
	session->sent_hello = session->needs_hello;
	return session->sent_hello;
}

static enum wire_session_event take_hello_reply(struct wire_session *session,
	const struct wire_reply *reply)
{
	if (reply->kind != WIRE_WELCOME) {
		return WIRE_SESSION_UNEXPECTED;
	}
	session->needs_hello = false;
	return WIRE_SESSION_WELCOMED;
}

enum wire_session_event wire_session_take(struct wire_session *session,
	const struct wire_reply *reply)
{
	bool is_loop = session->is_unproven;

	if (reply->kind == WIRE_REFUSED) {
		return WIRE_SESSION_REFUSED;
	}
	if (session->sent_hello) {
		return take_hello_reply(session, reply);
	}
	if (reply->kind == WIRE_ACK && reply->ack.need_hello) {
		session->needs_hello = true;
		session->is_unproven = true;
		return is_loop ? WIRE_SESSION_HELLO_LOOP
			       : WIRE_SESSION_HELLO_DUE;
	}
	session->is_unproven = false;
	return WIRE_SESSION_REPLY;
}
