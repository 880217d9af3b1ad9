"""A GraphQL API of Ariadne, whose users have friends, one of whom is gone."""

from wsgiref.simple_server import WSGIRequestHandler, make_server

from ariadne import MutationType, ObjectType, QueryType, make_executable_schema
from ariadne.wsgi import GraphQL
from graphql import GraphQLError

schema = """
    type Query { user(id: ID!): User, me: User! }
    type Mutation { rename(id: ID!, name: String): User! }
    type User { id: ID!, name: String!, email: String, friends: [User]! }
"""
query, mutation, user = QueryType(), MutationType(), ObjectType("User")
names = {"7": "Ann", "8": "Bo", "9": "Gone"}


def person(id):
    return {"id": id, "name": names[id]}


@query.field("user")
def resolve_user(_, info, id):
    return person(id) if id in names else None


@query.field("me")
def resolve_me(_, info):
    raise GraphQLError("Sign in first", extensions={"code": "UNAUTHENTICATED"})


@user.field("friends")
def resolve_friends(found, info):
    return [person("8"), person("9")]


@user.field("email")
def resolve_email(found, info):
    if found["name"] == "Gone":
        raise GraphQLError("No such user", extensions={"code": "NOT_FOUND"})
    return found["name"].lower() + "@example.com"


@mutation.field("rename")
def rename(_, info, id, name=None):
    if name is None:
        raise GraphQLError("A name, please")
    names[id] = name
    return person(id)


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


application = GraphQL(make_executable_schema(schema, query, mutation, user))
server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
print("ready", server.server_port, flush=True)
server.serve_forever()
