import Errand
import Testing

@Suite("Challenges of a server")
struct ChallengeTests {
    private func challenges(_ lines: String...) -> [[String: String]] {
        var headers: HTTPHeaders = [:]
        for line in lines { headers.add(name: "WWW-Authenticate", value: line) }
        return headers.challenges.map { $0.parameters.merging(["": $0.scheme]) { first, _ in first } }
    }

    @Test("several challenges in one field and in several, with and without parameters")
    func lists() {
        #expect(challenges("Bearer") == [["": "Bearer"]])
        let first = #"Basic realm="a, b", charset=UTF-8, Bearer error="invalid_token""#
        #expect(
            challenges(first, "Negotiate YWJj==, Digest x=1")
                == [
                    ["": "Basic", "realm": "a, b", "charset": "UTF-8"], ["": "Bearer", "error": "invalid_token"],
                    ["": "Negotiate"], ["": "Digest", "x": "1"],
                ])
        let proof = challenges(#"DPoP algs="ES256", Error="use_dpop_nonce""#)
        #expect(proof == [["": "DPoP", "algs": "ES256", "error": "use_dpop_nonce"]])
    }

    @Test("what is malformed is left out, and the first of two equal parameters counts")
    func malformed() {
        #expect(challenges("", ",,", "=a", #""text""#).isEmpty)
        #expect(challenges(#"Bearer scope="a", scope="b""#) == [["": "Bearer", "scope": "a"]])
        #expect(challenges(#"Bearer error="unended"#).count == 1)
        #expect(challenges("Bearer error = x") == [["": "Bearer", "error": "x"]])
    }

    @Test("what follows a thousand names is left out")
    func many() {
        let schemes = String(repeating: "a, ", count: 999)
        #expect(challenges(schemes + "Bearer").last == ["": "Bearer"])
        #expect(challenges(schemes + "b, Bearer").last == ["": "b"])
    }

    @Test("a description shows no values")
    func description() {
        var headers: HTTPHeaders = [:]
        headers.add(name: "WWW-Authenticate", value: #"Bearer error="secret", nonce="n-1""#)
        #expect("\(headers.challenges)" == "[Bearer(error, nonce)]")
    }
}
